"""What a user of rewards is told: the object, both values and the cure, in a sentence or two.

The one place that holds words of messages. Other tests hold types, names and values.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from spanreward import FunctionJudge, HarmonicReward, JudgedReward, Sample, Span, Verdict, reward
from spanreward.rewards import LaveReward, PoshReward, RemoteReward, build_reward, load_judge
from spanreward.rewards.comparison.crossed import holm_adjusted
from spanreward.rewards.comparison.length import control_length
from spanreward.rewards.comparison.ratings import Pair
from spanreward.rewards.comparison.resampling import ratio_interval
from spanreward.rewards.experimental.cascade_judge import CascadeJudge
from spanreward.rewards.experimental.jury_judge import JuryJudge
from spanreward.rewards.files.outputs import check_apart, check_json, settle_settings
from spanreward.rewards.harmonic import aggregate
from spanreward.rewards.judges import CachedJudge, MatchJudge, Question
from spanreward.rewards.judges.cache.store import Store
from spanreward.rewards.judges.encoding.chat import ChatEncoder
from spanreward.rewards.judges.encoding.tokenizer_files import TokenizerFiles
from spanreward.rewards.judges.local.transformers_judge import TransformersJudge
from spanreward.rewards.judges.local.vllm_arguments import tokens_that_fit
from spanreward.rewards.judges.local.vllm_judge import VllmJudge
from spanreward.rewards.judges.remote.chat_judge import ChatJudge
from spanreward.rewards.judges.remote.server_judge import ServerJudge
from spanreward.rewards.language.parse import parse_graphs
from spanreward.rewards.language.pipeline import load_pipeline
from spanreward.rewards.lave.vqa import vqa_accuracy
from spanreward.rewards.metric_names import check_metric
from spanreward.rewards.posh.prompts import DEFAULT_PROMPTS, load_prompts
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.reward.rows import open_pictures
from spanreward.rewards.reward.viewers import check_seen
from spanreward.rewards.rows.columns import read_columns
from spanreward.rewards.rows.pictures import opened_picture, with_box
from spanreward.rewards.rows.placeholders import without_placeholders
from spanreward.rewards.rows.sample import read_sample
from spanreward.rewards.rows.tables import read_table
from spanreward.rewards.scoring import score, score_file
from tests.support.messages import told
from tests.support.own_parts import overlap
from tests.support.paths import SUPPORT
from tests.support.tokenizer import tokenizer

ASK = Question([{"role": "user", "content": "Rate it."}])
EXAMPLE = {"question": "Who?", "references": ["Ann"], "candidate": "Bob", "rationale": "No."}
PARTS = f"{SUPPORT / 'own_parts.py'}"
Make = Callable[[], Any]
ONE = ["x"]


def build(metric: str, **options: Any) -> Reward:
    return build_reward(metric, MatchJudge(), options)


def file(name: str, content: str) -> Path:
    Path(name).write_text(content)
    return Path(name)


def given(metric: str, *columns: str, **options: Any) -> Any:
    """The scores of a row that has these columns."""
    return build(metric, **options)(ONE, ONE, **dict.fromkeys(columns, ONE))


def table(content: str, columns: Any = None) -> list[Any]:
    return list(read_table(file("a.jsonl", content), columns))


def span(start: int = 0, end: int = 1, score: float = 0.5, credit: float = 0.1) -> Span:
    return Span(start, end, score, credit, "x", "", 0)


def demonstrations(**change: Any) -> LaveReward:
    one = {**EXAMPLE, "rating": 1, **change}
    return LaveReward("match", demonstrations={"general": [one], "binary": []})


def scored(*settings: dict[str, Any], rows: str = '{"completion": "x"}') -> None:
    """Scores a file with each of these settings in turn, into one output."""
    own = reward()(length)
    for one in settings:
        score_file(own, file("rows.jsonl", rows), Path("out.jsonl"), one)


def settled(*numbers: int) -> None:
    """Settles these settings one after another, the first of an output that does not exist."""
    place = None
    for number in numbers:
        settle_settings(Path("made.json"), {"a": number}, place)
        place = Path()


def length(sample: Sample) -> float:
    return 1.0


def two_arguments(completions: list[str], reference: list[str]) -> float:
    return 0.0


def pair(**options: Any) -> CascadeJudge:
    return CascadeJudge(MatchJudge(), MatchJudge(), **options)


RED = {
    "bytes": bytes.fromhex(
        "89504e470d0a1a0a0000000d49484452000000010000000108020000009077"
        "53de0000000c49444154789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
    )
}

# what is done, and what its message holds: the object, both values, the cure
MESSAGES: list[tuple[Make, *tuple[str, ...]]] = [
    # metrics and their options
    (lambda: build("pish"), "metric 'pish'", "'posh'"),
    (lambda: build("bleu"), "metric 'bleu'", "valid are"),
    (lambda: check_metric("pohs"), "metric 'pohs'", "'posh'"),
    (lambda: build("posh", scroe=1), "option of posh 'scroe'", "'score'"),
    (lambda: build("posh", judge="match"), "option of posh 'judge'"),
    (lambda: build("posh", score="f0"), "score is", '"recall"', "'f0'"),
    (lambda: PoshReward("match", mode="fast"), "mode is", '"default"', "'fast'"),
    (lambda: build("posh", coref="neural"), "coref is", "'maverick'", "'neural'"),
    (lambda: PoshReward("match", evidence="image"), "evidence", "'image'"),
    (lambda: build("posh", mode="published", evidence="picture"), "mode='published'", "evidence="),
    (lambda: build("posh", prompts="/nowhere"), "posh", "'/nowhere'", "FileNotFoundError"),
    (lambda: build("posh", prompts=5), "posh", "5", "TypeError"),
    (lambda: build("posh", prompts=str(file("p.yaml", "precision: ["))), "p.yaml", "is not YAML"),
    (lambda: build("posh", prompts=str(file("p.yaml", "a: b"))), "p.yaml: precision: Field req"),
    (lambda: load_prompts(file("p.yaml", "5")), "p.yaml"),
    (
        lambda: PoshReward(
            "match",
            evidence="both",
            prompts=file("p.yaml", DEFAULT_PROMPTS.read_text().partition("\npicture:")[0]),
        ),
        "no part `picture`",
    ),
    (
        lambda: build("posh")(ONE, ONE, caption=ONE, image=ONE, trainer_state=1, log_metric=print),
        *("posh needs", "'reference'", "['caption', 'image']"),
    ),
    (lambda: build("lave", candidate="all"), "candidate is", "'all'"),
    (lambda: build("lave", evidence="picture"), "evidence is", "'picture'"),
    (lambda: build("lave", smooth=True), "smooth=True", "needs rationale=False"),
    (lambda: build("lave", filter_references=25), "filter_references", "from 0 to 1", "25"),
    (lambda: build("lave", rationales=False), "lave 'rationales'", "'rationale'"),
    (lambda: LaveReward("match", prompts=file("l.yaml", "tusk: x")), "l.yaml", "'tusk'", "'task'"),
    (lambda: demonstrations(rating=4), "demonstrations: general.0.rating", "1, 2 or 3", "4"),
    (lambda: demonstrations(candidate=True), "general.0.candidate", "True", "quotes"),
    (lambda: demonstrations(references=[True]), "general.0.references.0", "True", "quotes"),
    (lambda: demonstrations(rationale=None), "general.0.rationale", "None"),
    (lambda: LaveReward("match", demonstrations={"general": []}), "demonstrations: binary: Field"),
    (lambda: build("lave", demonstrations="no.yaml"), "lave", "no.yaml", "FileNotFoundError"),
    (lambda: given("lave", "question"), "lave needs", "'answers'", "['question']"),
    (lambda: vqa_accuracy("red", ["red"]), "4 answers or more", "1"),
    (lambda: build("harmonic", task="icc"), "task 'icc'", "'ic'"),
    (lambda: build("harmonic", spans="words"), "spans is", "'words'"),
    (lambda: build("harmonic", evidence="text"), "evidence is", "'text'"),
    (lambda: build("harmonic", gamma=0), "gamma", "(0, 1]", "0"),
    (lambda: build("harmonic", criteria=["corectness"]), "criterion 'corectness'", "'correctness'"),
    (lambda: build("harmonic", criteria=[]), "criteria", "at least one"),
    (lambda: build("harmonic", criteria=["fluency", "fluency"]), "criteria", "different names"),
    (lambda: build("harmonic", criteria="none.yaml"), "none.yaml"),
    (lambda: build("harmonic", prompts="none.yaml"), "none.yaml"),
    (lambda: build("harmonic", text_judge="vlm"), "judge 'vlm'"),
    (lambda: given("harmonic", "caption"), "harmonic needs", "'image' or 'images' or 'context'"),
    (lambda: aggregate({"fluency": [0.5, 0.5]}, 0.75), "fluency", "1 to 5", "2 numbers"),
    (lambda: aggregate({"fluency": {"6": 1.0}}, 0.75), "fluency", "got 6"),
    (lambda: aggregate({"a": [0, 0, 0, 0, 1]}, 1, sigma_floor=0), "above 0"),
    (lambda: build("criteria", form="batch"), "form is", "'batch'"),
    (lambda: build("criteria", evidence="sound"), "evidence is", "'sound'"),
    (lambda: given("criteria", "context"), "criteria needs", "'criteria'"),
    (lambda: build("pairwise", form="rank"), "form is", '"batch"', "'rank'"),
    (lambda: build("pairwise", mode="pair"), "mode is", "'pair'"),
    (lambda: build("pairwise", anchor="sft"), "anchor is", "None", "'sft'"),
    (lambda: build("pairwise", evidence="sound"), "evidence is", "'sound'"),
    (lambda: build("pairwise", form="score", anchor="anchor"), "form is 'score'", "leave out"),
    (lambda: build("pairwise", form="batch", spans="ablation"), "name an anchor", 'form="score"'),
    (lambda: given("pairwise", "other"), "evidence=prompt"),
    (lambda: given("pairwise", "context", anchor="anchor"), "pairwise needs", "'anchor'"),
    (lambda: build("differences", evidence="context"), "evidence is", "'context'"),
    (lambda: given("differences", evidence="reference"), "differences needs", "'reference'"),
    (lambda: build("posh", judged_part="/(/"), "judged_part", "/(/"),
    (lambda: build("posh", judged_part=""), "judged_part", "''"),
    (lambda: build("posh", judged_part="<a>"), "name of a tag"),
    (lambda: PoshReward("match", judged_part=3), "judged_part", "3"),
    (lambda: JudgedReward("match", "How?"), "no completion", "put {completion}"),
    (lambda: JudgedReward("match", "{completion} {refrence}"), "placeholder 'refrence'"),
    (lambda: JudgedReward("match", "{completion}", scale=("1",)), "two tokens or more"),
    (lambda: reward()(two_arguments), "calls two_arguments", "missing", "def two_arguments(sam"),
    (lambda: reward(length), "@reward()", "def length"),
    (lambda: build(f"{PARTS}:overlap", name="other"), "takes no options", "name"),
    (lambda: load_judge(f"{PARTS}:rule", deadline=4), "takes no options", "deadline"),
    (lambda: build("none.py:Words"), "no file none.py"),
    (lambda: build(f"{PARTS}:Words"), "no class Words", "derive it from"),
    (lambda: Reward("nothing").assess([]), "define assess(samples)"),
    (lambda: RemoteReward("ftp://a"), "'ftp://a'", "http or https"),
    (lambda: build_reward("remote", None, {}), "remote", "{}"),
    (lambda: RemoteReward("http://127.0.0.1:9").reader(), "http://127.0.0.1:9", "spanreward serve"),
    # calls
    (lambda: overlap(ONE * 2, ONE * 2, reference=ONE), "'reference'", "1 values", "2 completions"),
    (lambda: overlap(ONE, ONE * 2, reference=ONE * 2), "1 prompts", "2 completions"),
    (lambda: overlap([""], "A dog.", reference=["A dog."]), "must be a list"),
    (lambda: overlap(reference=["x"]), "overlap", "give completions="),
    (lambda: overlap.assess(cast(Any, ["A dog."])), "list of Samples", "str", "assess([Sample("),
    (lambda: build("posh").compute(predictions=ONE), "posh needs 'reference'", "write compute"),
    (lambda: Verdict(0.5).html([Sample("", "A kite.")]), "list", "give one of them"),
    (lambda: Verdict(1, spans=(span(start=8, end=14),)).html("A dog."), "8 to 14", "6 charact"),
    (lambda: span(credit=np.inf), "credit", "finite number"),
    (lambda: span(score=3.0), "score", "from 0 to 1", "3.0"),
    (lambda: Verdict(0.5, parts={"f1": np.nan}), "parts", "finite", "'f1'"),
    (lambda: Verdict(1.5), "score", "[0, 1]", "1.5"),
    (lambda: Verdict(0.5, "timeout"), "ok and empty"),
    (
        lambda: check_seen(
            HarmonicReward(FunctionJudge("f", length)), [Sample("", "x", images=("a.png",))]
        ),
        *("harmonic", "judge function reads text", "vision-language model", "evidence='context'"),
    ),
    # judges
    (lambda: PoshReward(3), "a Judge or its name", "'match'", "3"),
    (lambda: PoshReward("matsch"), "judge 'matsch'", "'match'"),
    (lambda: load_judge("Match"), "judge 'Match'", "'match'"),
    (lambda: load_judge("vllm/org/m"), "'vllm:org/m'"),
    (lambda: load_judge("gpt"), "vllm:gpt or transformers:gpt"),
    (lambda: load_judge("transformers"), "'transformers'", "not complete"),
    (lambda: load_judge("match:x"), "'match:x'", "not complete"),
    (lambda: load_judge("server:#m"), "server:URL#MODEL"),
    (lambda: load_judge("server:http://a,http://b#m"), "one server", "load balancer"),
    (lambda: load_judge("vllm:smollm2", memroy=1), "judge vllm:smollm2", "'memroy'", "'memory'"),
    (lambda: load_judge("match", batch_size=1), "judge match", "'batch_size'", "coref, pipeline"),
    (lambda: load_judge(f"{PARTS}:Sure"), "no class Sure", "is a Judge"),
    (lambda: load_judge("match+match", deadline=3), "jury match+match", "no options", "deadline"),
    (lambda: JuryJudge(MatchJudge()), "two judges or more", "1"),
    (lambda: load_judge("match+mtch:x"), "judge 'mtch:x'", "'match'"),
    (lambda: pair(sure=-0.1), "cascade's sure", "-0.1", "from 0 to 1"),
    (lambda: pair(audit=1.5), "cascade's audit", "1.5", "from 0 to 1"),
    (lambda: load_judge("cascade", student="match"), "cascade", "not complete", "'teacher'"),
    (lambda: load_judge("cascade", student="match", teacher=3), "a Judge or its name", "3"),
    (lambda: VllmJudge("m", memory=4), "memory=4", "4 bytes", "memory=4e9"),
    (lambda: tokens_that_fit(50_000, 100), "memory=5e+04", "500 tokens", "5.1e+04 or more"),
    (lambda: ChatJudge("127.0.0.1:8000", "m"), "give one such as"),
    (lambda: ChatJudge("http://h", "m", detail="sharp"), "detail", "'sharp'"),
    (lambda: ServerJudge("http://h", "m", "/no/such").rate([ASK]), "'/no/such'", "chat:URL#MODEL"),
    (lambda: ChatJudge("http://h", "m").rate([ASK], scale=("1", "10")), "'10'", "begins like '1'"),
    (lambda: TokenizerFiles(Path()), "no tokenizer.json", "fast tokenizer"),
    (lambda: TokenizerFiles(file("tokenizer.json", "{").parent), "cannot be", "copy or save it"),
    (lambda: ChatEncoder(tokenizer(None)), "has no chat template"),
    (
        lambda: TransformersJudge("smollm2", chat_template="gone.jinja").encoder,
        *("chat_template", "'plain'", "gone.jinja"),
    ),
    (lambda: CachedJudge(MatchJudge(), file("a.b", "mine")), "a.b", "not a cache", "remove it"),
    (lambda: Store(Path("a.sqlite"), 1000), "max_bytes", "1000", "65536"),
    # language
    (lambda: parse_graphs(["a", "b"], clusters=[[]]), "1 lists", "2 texts"),
    (lambda: parse_graphs(["a red hat"], clusters=[[[[0, 9], [0, 1]]]]), "[0, 9]", "3 tokens"),
    (lambda: load_pipeline("en_core_web_xxl"), "en_core_web_xxl", "spacy download en_core_web_sm"),
    # rows, files, statistics
    (
        lambda: without_placeholders("<image 1> or <image 2>?", 1, "the question"),
        *("the question", "2 pictures", "'<image 2>'", "1 picture", "for each, or write"),
    ),
    (lambda: read_sample({}, 3), "messages", "the assistant's", "3"),
    (lambda: read_sample({}, [{"role": "assistant", "utterance": "A dog."}]), "role, utterance"),
    (lambda: read_columns({"a": 3}, {"reference": "a"}), "column 'a'", "list of texts"),
    (lambda: read_sample({"bbox": [1, 2, 3]}, "x"), "column 'bbox'", "four numbers"),
    (lambda: with_box(Image.new("RGB", (64, 48)), (0.1, 0, 0.5, 1)), "multiply shares", "64 x 48"),
    (lambda: with_box(opened_picture(RED), (0, 0, 9, 5)), "x0 < x1", "of 1 x 1 pixels"),
    (lambda: opened_picture("https://a.org/b.png"), "a URL", "nothing is downloaded"),
    (lambda: opened_picture("none.png"), "no picture", "none.png"),
    (lambda: opened_picture(torch.zeros(3, 2, 2)), "PIL image", "Tensor"),
    (lambda: open_pictures([RED] * 65), "65 pictures", "64"),
    (lambda: score(overlap, "gone.jsonl"), "no input file", "gone.jsonl"),
    (lambda: score(overlap, cast(Any, ["A dog."])), "row 1", "'A dog.'", "frame.to_dict"),
    (lambda: score(overlap, pd.DataFrame([{"completion": "x"}])), "'completion'", "frame.to_dict"),
    (lambda: score("posh", []), "takes a reward", "PoshReward('match')"),
    (lambda: score(overlap, [{"completion": "x"}]), "overlap needs", "['completion']", "rename"),
    (lambda: table("a,b\n1,2\n"), "a.jsonl line 1", "not JSON", "one a line"),
    (lambda: table('{"text": "x"}\n', {"reference": "txet"}), "'txet'", "['text']"),
    (lambda: scored({}, rows=" \n"), "rows.jsonl", "no rows"),
    (lambda: scored({"a": 1}, {"a": 2}), "out.jsonl", "{'a': 1}", "{'a': 2}", "choose another"),
    (lambda: settled(1, 2), "{'a': 1}", "{'a': 2}", "choose another output"),
    (lambda: check_apart([Path("a")], [Path("a")]), "is an input", "choose another"),
    (lambda: check_json(file("n.json", "{}"), {"a": None}, False), "n.json exists", "'a'"),
    (lambda: control_length([1], [(1, 2), (3, 4)]), "got 1, 2 and 1"),
    (lambda: control_length([1], [(-1, 2)]), "0 or more", "-1"),
    (lambda: holm_adjusted([1.2]), "[0, 1]", "1.2"),
    (lambda: ratio_interval([1, 2], [1]), "numerators", "denominators"),
    (lambda: Pair("a", "a", 1), "two players"),
    (lambda: Pair("a", "b", 2), "1, 0 or -1"),
]


@pytest.mark.parametrize("case", MESSAGES, ids=lambda case: " ".join(case[1:]))
def test_a_user_is_told_what_and_the_cure(
    case: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SPANREWARD_API_KEY", raising=False)
    make, *words = case
    errors = (ValueError, TypeError, OSError, ImportError, NotImplementedError)
    told(make, errors, words)
