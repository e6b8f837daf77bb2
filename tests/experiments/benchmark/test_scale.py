"""`experiments benchmark scale`: counts on groups that are known, and arithmetic by hand."""

import json
from pathlib import Path

import pytest

from experiments.benchmark import scale_trace as traces
from experiments.benchmark.posh import Meter, computed, content, encoder
from experiments.benchmark.scale import calibrated, placements, rates_of
from spanreward.rewards import MatchJudge, PoshReward
from spanreward.training.plan.memory import size_by_name
from spanreward.training.recipe import RewardPart, load_recipe
from tests.support.experiment_numbers import numbers_of
from tests.support.paths import ROOT
from tests.support.tokenizer import tokenizer

SCENES = ROOT / "recipes" / "quickstart" / "scenes-mixed-dapo.yaml"
LARGE = ROOT / "recipes" / "qwen2.5-vl-7b" / "docent-posh-dapo.yaml"
POSH = RewardPart(metric="posh")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("model")
    tokenizer().save_pretrained(folder)
    return str(folder)


def test_groups_are_as_long_and_as_many_as_asked() -> None:
    groups = traces.make_groups(prompts=2, group=5, words=60, references=3)
    assert [len(group) for group in groups] == [5, 5]
    for sample in (*groups[0], *groups[1]):
        assert 35 <= len(sample.completion.split()) <= 100
        assert all(50 <= len(text.split()) <= 100 for text in sample.references)
        assert sample.answers
        assert sample.criteria
        assert sample.anchor
    assert len({sample.completion for sample in groups[0]}) == 5
    assert groups == traces.make_groups(prompts=2, group=5, words=60, references=3)
    assert groups[0][0].references != groups[1][0].references


def test_a_trace_counts_what_the_reward_asks(model: str) -> None:
    trace = traces.trace_of(POSH, references=1, prompts=2, group=3, words=25, encode=encoder(model))
    meter = Meter(MatchJudge())
    for number, samples in enumerate(traces.make_groups(2, 3, 25, 1)):
        meter.asked.clear()
        PoshReward(meter).assess(samples)
        different = {content(question): question for wave in meter.asked for question in wave}
        assert trace.questions[number] == len(different)
        tokens = sum(len(encoder(model)(question)) for question in different.values())
        assert trace.tokens[number] == tokens
        assert trace.computed[number] == sum(computed(meter.asked, encoder(model), traces.BLOCK))
    assert trace.writes == (0, 0)
    lave, sizes = RewardPart(metric="lave"), {"prompts": 1, "group": 4, "words": 25}
    written = traces.trace_of(lave, references=1, **sizes, encode=encoder(model))
    assert written.writes == written.questions > (0,)


def test_no_two_prompts_share_a_question(model: str) -> None:
    groups = traces.make_groups(3, 4, 25, 1)
    together, _ = traces.waves_of(
        POSH, [sample for group in groups for sample in group], encoder(model)
    )
    trace = traces.trace_of(POSH, references=1, prompts=3, group=4, words=25, encode=encoder(model))
    assert sum(map(len, together)) == sum(trace.questions)


def test_what_servers_compute_together_by_hand() -> None:
    # two texts of 32 tokens with two questions of one block each; their first block is the same
    first, second = tuple(range(32)), (*range(16), *range(100, 116))
    wave = sorted((*text, *range(end, end + 16)) for text in (first, second) for end in (200, 300))
    assert traces.shared([wave], 1, dealt=False) == 48 + 16 + 32 + 16
    assert sum(computed([wave], traces.as_it_is, 16)) == 48 + 16 + 32 + 16
    assert traces.shared([wave], 2, dealt=False) == (48 + 16) + (48 + 16)  # a text each
    assert traces.shared([wave], 2, dealt=True) == 2 * (48 + 32)  # both texts at both


def test_the_command_says_what_grows_how(model: str, tmp_path: Path) -> None:
    sizes = "--prompts 1 4 --group-sizes 2 4 --words 12 40 --gpus 1 16 --traced 1"
    words = ("benchmark", "scale", SCENES, *sizes.split(), "--tokens", model)
    found = numbers_of(tmp_path, *words)
    keys = ("reward", "prompts", "group", "words")
    rows = {tuple(row[key] for key in keys): row for row in found["asked"]}
    assert {name for name, *_ in rows} == {"posh", "lave", "harmonic"}
    assert len(rows) == 3 * 2 * 2 * 2
    for (reward, _, group, size), row in rows.items():
        assert row["questions"] == row["prompts"] * row["questions_of_traced"][0]
        assert row["computed"] == row["prompts"] * row["computed_of_traced"][0] <= row["tokens"]
        if reward == "posh" and (group, size) != (4, 40):
            assert row["questions"] < rows["posh", row["prompts"], 4, 40]["questions"]
    one, *_, eight = found["servers"]
    assert one["stretches"] == one["dealt"] <= eight["stretches"] < eight["dealt"]
    assert not any("peaks" in row for row in found["placements"])  # it trains on the CPU
    assert not any("judging_seconds" in row for row in found["placements"])  # nobody measured


def test_placements_are_those_of_the_dry_run_and_seconds_by_hand() -> None:
    judge = "Qwen/Qwen3-14B"
    rows = placements(load_recipe(LARGE), [8, 16], "zero3", {judge: 1000.0}, tokens=80_000)
    found = {(row["gpus"], row["placement"]): row for row in rows}
    assert found.keys() == {(gpus, where) for gpus in (8, 16) for where in ("per_rank", "server")}
    seconds = {key: row["judging_seconds"] for key, row in found.items()}
    expected = (10.0, 5.0, 80.0)
    assert (seconds[8, "per_rank"], seconds[16, "per_rank"], seconds[8, "server"]) == expected
    # as docs/evidence/cost.md has it, of --dry-run
    assert round(found[8, "per_rank"]["peaks"]["judging"]) == 58
    assert found[8, "server"]["main_memory"] == 0
    # of a machine
    assert found[16, "per_rank"]["main_memory"] == found[8, "per_rank"]["main_memory"]


def test_a_rate_is_measured_or_given(tmp_path: Path) -> None:
    sizes = {name: size_by_name(name) for name in ("Qwen/Qwen3-8B", "Qwen/Qwen3-14B", "smollm2")}
    small, large, tiny = (size.parameters for size in sizes.values() if size is not None)
    models = ["Qwen/Qwen3-8B", "Qwen/Qwen3-14B"]
    assert rates_of(models, None, None) == dict.fromkeys(models)
    expected = [500.0, pytest.approx(500 * small / large)]
    assert [rates_of(models, 500.0, None)[model] for model in models] == expected
    line = {"what": "vllm:smollm2", "computed": 3000, "seconds_per_question": 0.5, "questions": 20}
    path = tmp_path / "judge.json"
    path.write_text(json.dumps({"lines": [{"what": "match", "computed": 0}, line]}))
    assert calibrated(path) == 300 * tiny
    assert rates_of(models, None, path)[models[0]] == pytest.approx(300 * tiny / small)
