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
from spanreward.rewards import (
    CriteriaReward,
    DifferencesReward,
    LaveReward,
    PairwiseReward,
    PoshReward,
    RemoteReward,
    build_reward,
    load_judge,
)
from spanreward.rewards.comparison.crossed import holm
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
from spanreward.rewards.posh.prompts import DEFAULT, load_prompts
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.reward.rows import open_pictures
from spanreward.rewards.reward.viewers import check_seen
from spanreward.rewards.rows.columns import read_columns
from spanreward.rewards.rows.pictures import opened, with_box
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
Make = Callable[[Path], Any]


def build(metric: str, **options: Any) -> Reward:
    return build_reward(metric, MatchJudge(), options)


def written(path: Path, content: str) -> Path:
    path.write_text(content)
    return path


def demonstrations(**change: Any) -> LaveReward:
    one = {**EXAMPLE, "rating": 1, **change}
    return LaveReward("match", demonstrations={"general": [one], "binary": []})


def scored(folder: Path, *settings: dict[str, Any], rows: str = '{"completion": "x"}') -> None:
    """Scores a file with each of these settings in turn, into one output."""
    own = reward()(length)
    for one in settings:
        score_file(own, written(folder / "rows.jsonl", rows), folder / "out.jsonl", one)


def settled(folder: Path, *numbers: int) -> None:
    """Settles these settings one after another, the first of an output that does not exist."""
    place = None
    for number in numbers:
        settle_settings(folder / "made.json", {"a": number}, place)
        place = folder


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
MESSAGES: dict[str, tuple[Make, *tuple[str, ...]]] = {
    # metrics and their options
    "metric misspelt": (lambda _: build("pish"), "metric 'pish'", "'posh'"),
    "metric unknown": (lambda _: build("bleu"), "metric 'bleu'", "valid are"),
    "metric before import": (lambda _: check_metric("pohs"), "metric 'pohs'", "'posh'"),
    "option misspelt": (lambda _: build("posh", scroe=1), "option of posh 'scroe'", "'score'"),
    "option that is none": (lambda _: build("posh", judge="match"), "option of posh 'judge'"),
    "posh score": (lambda _: build("posh", score="f0"), "score is", '"recall"', "'f0'"),
    "posh mode": (lambda _: PoshReward("match", mode="fast"), "mode is", '"default"', "'fast'"),
    "posh coref": (lambda _: build("posh", coref="neural"), "coref is", "'maverick'", "'neural'"),
    "posh evidence": (lambda _: PoshReward("match", evidence="image"), "evidence", "'image'"),
    "posh published picture": (
        lambda _: PoshReward("match", mode="published", evidence="picture"),
        *("mode='published'", "evidence='picture'"),
    ),
    "prompts that are not there": (
        lambda _: build("posh", prompts="/nowhere"),
        *("posh", "'/nowhere'", "FileNotFoundError"),
    ),
    "prompts of no kind": (lambda _: build("posh", prompts=5), "posh", "5", "TypeError"),
    "prompts that are no YAML": (
        lambda folder: build("posh", prompts=str(written(folder / "p.yaml", "precision: ["))),
        *("p.yaml", "is not YAML"),
    ),
    "prompts that lack a key": (
        lambda folder: build("posh", prompts=str(written(folder / "p.yaml", "a: b"))),
        *("p.yaml: precision:", "Field required"),
    ),
    "prompts that are a number": (
        lambda folder: load_prompts(written(folder / "p.yaml", "5")),
        "p.yaml",
    ),
    "prompts without a picture": (
        lambda folder: PoshReward(
            "match",
            evidence="both",
            prompts=written(folder / "p.yaml", DEFAULT.read_text().partition("\npicture:")[0]),
        ),
        "no part `picture`",
    ),
    "posh column": (
        lambda _: PoshReward("match")(
            [""], ["x"], caption=["x"], image=[None], trainer_state=object(), log_metric=print
        ),
        *("posh needs", "'reference'", "['caption', 'image']"),
    ),
    "lave candidate": (lambda _: build("lave", candidate="all"), "candidate is", "'all'"),
    "lave evidence": (lambda _: build("lave", evidence="picture"), "evidence is", "'picture'"),
    "lave smooth": (lambda _: build("lave", smooth=True), "smooth=True", "needs rationale=False"),
    "lave references": (
        lambda _: build("lave", filter_references=25),
        *("filter_references", "from 0 to 1", "25"),
    ),
    "lave option": (lambda _: build("lave", rationales=False), "lave 'rationales'", "'rationale'"),
    "lave prompts key": (
        lambda folder: LaveReward("match", prompts=written(folder / "l.yaml", "tusk: x")),
        *("l.yaml", "'tusk'", "'task'"),
    ),
    "lave demonstration rating": (
        lambda _: demonstrations(rating=4),
        *("demonstrations: general.0.rating", "1, 2 or 3", "4"),
    ),
    "lave demonstration of YAML's yes": (
        lambda _: demonstrations(candidate=True),
        *("general.0.candidate", "True", "quotes"),
    ),
    "lave demonstration in a list": (
        lambda _: demonstrations(references=[True]),
        *("general.0.references.0", "True", "quotes"),
    ),
    "lave demonstration without a reason": (
        lambda _: demonstrations(rationale=None),
        *("general.0.rationale", "None"),
    ),
    "lave demonstrations in part": (
        lambda _: LaveReward("match", demonstrations={"general": []}),
        *("demonstrations: binary", "Field required"),
    ),
    "lave demonstrations gone": (
        lambda _: build("lave", demonstrations="no/such.yaml"),
        *("lave", "no/such.yaml", "FileNotFoundError"),
    ),
    "lave column": (
        lambda _: LaveReward("match")(["Q"], ["red"], question=["Q"]),
        *("lave needs", "'answers'", "['question']"),
    ),
    "vqa accuracy": (lambda _: vqa_accuracy("red", ["red"]), "4 answers or more", "1"),
    "harmonic task": (lambda _: build("harmonic", task="icc"), "task 'icc'", "'ic'"),
    "harmonic spans": (lambda _: build("harmonic", spans="words"), "spans is", "'words'"),
    "harmonic evidence": (lambda _: build("harmonic", evidence="text"), "evidence is", "'text'"),
    "harmonic gamma": (lambda _: build("harmonic", gamma=0), "gamma", "(0, 1]", "0"),
    "harmonic criterion": (
        lambda _: build("harmonic", criteria=["corectness"]),
        *("criterion 'corectness'", "'correctness'"),
    ),
    "harmonic no criteria": (lambda _: build("harmonic", criteria=[]), "criteria", "at least one"),
    "harmonic criteria twice": (
        lambda _: build("harmonic", criteria=["fluency", "fluency"]),
        *("criteria", "different names"),
    ),
    "harmonic criteria gone": (lambda _: build("harmonic", criteria="none.yaml"), "none.yaml"),
    "harmonic prompts gone": (lambda _: build("harmonic", prompts="none.yaml"), "none.yaml"),
    "harmonic text judge": (lambda _: build("harmonic", text_judge="vlm"), "judge 'vlm'"),
    "harmonic column": (
        lambda _: HarmonicReward("match")([""], ["A dog."], caption=["x"]),
        *("harmonic needs", "'image'", "'images'", "'context'"),
    ),
    "harmonic levels": (
        lambda _: aggregate({"fluency": [0.5, 0.5]}, 0.75),
        *("fluency", "1 to 5", "2 numbers"),
    ),
    "harmonic level": (lambda _: aggregate({"fluency": {"6": 1.0}}, 0.75), "fluency", "got 6"),
    "harmonic floor": (lambda _: aggregate({"a": [0, 0, 0, 0, 1]}, 1, sigma_floor=0), "above 0"),
    "criteria form": (lambda _: build("criteria", form="batch"), "form is", "'batch'"),
    "criteria evidence": (lambda _: build("criteria", evidence="sound"), "evidence is", "'sound'"),
    "criteria column": (
        lambda _: CriteriaReward("match")([""], ["A dog."], context=["x"]),
        *("criteria needs", "'criteria'"),
    ),
    "pairwise form": (lambda _: build("pairwise", form="rank"), "form is", '"batch"', "'rank'"),
    "pairwise mode": (lambda _: build("pairwise", mode="pair"), "mode is", "'pair'"),
    "pairwise anchor": (lambda _: build("pairwise", anchor="sft"), "anchor is", "None", "'sft'"),
    "pairwise evidence": (lambda _: build("pairwise", evidence="sound"), "evidence is", "'sound'"),
    "pairwise anchor without pairs": (
        lambda _: build("pairwise", form="score", anchor="anchor"),
        *("form is 'score'", "leave out anchor='anchor'"),
    ),
    "pairwise spans": (
        lambda _: build("pairwise", form="batch", spans="ablation"),
        *("name an anchor", 'form="score"'),
    ),
    "pairwise text alone": (
        lambda _: PairwiseReward("match")(["Name a fruit."], ["An apple."], other=[1]),
        "evidence=prompt",
    ),
    "pairwise column": (
        lambda _: build("pairwise", anchor="anchor")([""], ["x"], context=["x"]),
        *("pairwise needs", "'anchor'"),
    ),
    "differences evidence": (
        lambda _: DifferencesReward("match", evidence="context"),
        *("evidence is", "'context'"),
    ),
    "differences column": (
        lambda _: DifferencesReward("match", evidence="reference")([""], ["A dog."]),
        *("differences needs", "'reference'"),
    ),
    "judged part": (lambda _: build("posh", judged_part="/(/"), "judged_part", "/(/"),
    "judged part that is empty": (lambda _: build("posh", judged_part=""), "judged_part", "''"),
    "judged part that is a tag": (lambda _: build("posh", judged_part="<a>"), "name of a tag"),
    "judged part of no kind": (lambda _: PoshReward("match", judged_part=3), "judged_part", "3"),
    "own prompt": (lambda _: JudgedReward("match", "How?"), "no completion", "put {completion}"),
    "own placeholder": (
        lambda _: JudgedReward("match", "{completion} {refrence}"),
        "placeholder 'refrence'",
    ),
    "own scale": (
        lambda _: JudgedReward("match", "{completion}", scale=("1",)),
        "two tokens or more",
    ),
    "own function": (
        lambda _: reward()(two_arguments),
        *("calls two_arguments", "missing", "def two_arguments(sample)"),
    ),
    "own function without parentheses": (lambda _: reward(length), "@reward()", "def length"),
    "own metric with options": (
        lambda _: build(f"{PARTS}:overlap", name="other"),
        *("takes no options", "name"),
    ),
    "own judge with options": (
        lambda _: load_judge(f"{PARTS}:rule", deadline=4),
        *("takes no options", "deadline"),
    ),
    "own metric's file": (lambda _: build("none.py:Words"), "no file none.py"),
    "own metric's class": (lambda _: build(f"{PARTS}:Words"), "no class Words", "derive it from"),
    "metric without assess": (lambda _: Reward("nothing").assess([]), "define assess(samples)"),
    "remote url": (lambda _: RemoteReward("ftp://a"), "'ftp://a'", "http or https"),
    "remote without url": (lambda _: build_reward("remote", None, {}), "remote", "{}"),
    "remote away": (
        lambda _: RemoteReward("http://127.0.0.1:9").reader(),
        *("http://127.0.0.1:9", "start spanreward serve"),
    ),
    # calls
    "too few references": (
        lambda _: overlap(["", ""], ["A dog."] * 2, reference=["A dog."]),
        *("'reference'", "1 values", "2 completions"),
    ),
    "too few prompts": (
        lambda _: overlap(["x"], ["A dog."] * 2, reference=["A dog."] * 2),
        *("1 prompts", "2 completions"),
    ),
    "one text for a list": (
        lambda _: overlap([""], "A dog.", reference=["A dog."]),
        "must be a list",
    ),
    "no completions": (lambda _: overlap(reference=["x"]), "overlap", "give completions="),
    "samples": (
        lambda _: overlap.assess(cast(Any, ["A dog."])),
        "list of Samples",
        "str",
        "assess([Sample(",
    ),
    "compute without references": (
        lambda _: PoshReward("match").compute(predictions=["A dog."]),
        *("posh needs 'reference'", "write compute"),
    ),
    "text for a verdict": (
        lambda _: Verdict(0.5).html([Sample("", "A kite.")]),
        *("list", "give one of them"),
    ),
    "span on another text": (
        lambda _: Verdict(0.5, spans=(Span(8, 14, 0.5, 0.1, "x", "", 0),)).html("A dog."),
        *("8 to 14", "6 characters"),
    ),
    "span's credit": (lambda _: Span(0, 1, 0.5, np.inf, "x", "", 0), "credit", "finite number"),
    "span's score": (lambda _: Span(0, 1, 3.0, 0.1, "x", "", 0), "score", "from 0 to 1", "3.0"),
    "verdict's part": (lambda _: Verdict(0.5, parts={"f1": np.nan}), "parts", "finite", "'f1'"),
    "verdict's score": (lambda _: Verdict(1.5), "score", "[0, 1]", "1.5"),
    "verdict's status": (lambda _: Verdict(0.5, "timeout"), "ok and empty"),
    "blind judge": (
        lambda _: check_seen(
            HarmonicReward(FunctionJudge("mine", length)), [Sample("", "x", images=("a.png",))]
        ),
        *("harmonic", "judge function reads text", "vision-language model", "evidence='context'"),
    ),
    # judges
    "judge of no kind": (lambda _: PoshReward(3), "a Judge or its name", "'match'", "3"),
    "judge misspelt": (lambda _: PoshReward("matsch"), "judge 'matsch'", "'match'"),
    "judge in capitals": (lambda _: load_judge("Match"), "judge 'Match'", "'match'"),
    "judge with a slash": (lambda _: load_judge("vllm/org/m"), "'vllm:org/m'"),
    "judge that is a model": (lambda _: load_judge("gpt"), "vllm:gpt or transformers:gpt"),
    "judge without model": (lambda _: load_judge("transformers"), "'transformers'", "not complete"),
    "judge with a model too many": (lambda _: load_judge("match:x"), "'match:x'", "not complete"),
    "judge without URL": (lambda _: load_judge("server:#m"), "server:URL#MODEL"),
    "judge at two URLs": (
        lambda _: load_judge("server:http://a,http://b#m"),
        *("one server", "load balancer"),
    ),
    "judge's option": (
        lambda _: load_judge("vllm:smollm2", memroy=1),
        *("the judge vllm:smollm2", "'memroy'", "'memory'"),
    ),
    "judge's options": (
        lambda _: load_judge("match", batch_size=1),
        *("the judge match", "'batch_size'", "coref, pipeline"),
    ),
    "judge's class": (lambda _: load_judge(f"{PARTS}:Sure"), "no class Sure", "is a Judge"),
    "jury's options": (
        lambda _: load_judge("match+match", deadline=3),
        *("jury match+match", "no options", "deadline"),
    ),
    "jury of one": (lambda _: JuryJudge(MatchJudge()), "two judges or more", "1"),
    "jury's member": (lambda _: load_judge("match+mtch:x"), "judge 'mtch:x'", "'match'"),
    "cascade's share": (lambda _: pair(sure=-0.1), "cascade's sure", "-0.1", "from 0 to 1"),
    "cascade's audit": (lambda _: pair(audit=1.5), "cascade's audit", "1.5", "from 0 to 1"),
    "cascade without teacher": (
        lambda _: load_judge("cascade", student="match"),
        *("cascade", "not complete", "'teacher'"),
    ),
    "cascade's teacher": (
        lambda _: load_judge("cascade", student="match", teacher=3),
        *("a Judge or its name", "3"),
    ),
    "vllm's memory": (lambda _: VllmJudge("m", memory=4), "memory=4", "4 bytes", "memory=4e9"),
    "cache of keys and values": (
        lambda _: tokens_that_fit(50_000, 100),
        *("memory=5e+04", "500 tokens", "5.1e+04 or more"),
    ),
    "URL": (lambda _: ChatJudge("127.0.0.1:8000", "m"), "give one such as"),
    "detail": (lambda _: ChatJudge("http://h", "m", detail="sharp"), "detail", "'sharp'"),
    "judge's tokenizer": (
        lambda _: ServerJudge("http://h", "m", "/no/such").rate([ASK]),
        *("'/no/such'", "chat:URL#MODEL"),
    ),
    "scale of one beginning": (
        lambda _: ChatJudge("http://h", "m").rate([ASK], scale=("1", "10")),
        *("'10'", "begins like '1'"),
    ),
    "tokenizer's file": (
        lambda folder: TokenizerFiles(folder),
        *("no tokenizer.json", "fast tokenizer"),
    ),
    "tokenizer's file, broken": (
        lambda folder: TokenizerFiles(written(folder / "tokenizer.json", "{").parent),
        *("tokenizer.json cannot be read", "copy or save it"),
    ),
    "chat template": (lambda _: ChatEncoder(tokenizer(None)), "has no chat template"),
    "chat template's file": (
        lambda _: TransformersJudge("smollm2", chat_template="gone.jinja").encoder,
        *("chat_template", "'plain'", "gone.jinja"),
    ),
    "cache's file": (
        lambda folder: CachedJudge(MatchJudge(), written(folder / "notes.txt", "mine")),
        *("notes.txt", "not a cache of ratings", "remove it"),
    ),
    "cache's size": (lambda folder: Store(folder / "a.sqlite", 1000), "max_bytes", "1000", "65536"),
    # language
    "clusters": (lambda _: parse_graphs(["a", "b"], clusters=[[]]), "1 lists", "2 texts"),
    "cluster": (
        lambda _: parse_graphs(["a red hat"], clusters=[[[[0, 9], [0, 1]]]]),
        *("[0, 9]", "3 tokens"),
    ),
    "pipeline": (
        lambda _: load_pipeline("en_core_web_xxl"),
        *("en_core_web_xxl", "spacy download en_core_web_sm"),
    ),
    # rows, files, statistics
    "placeholders": (
        lambda _: without_placeholders("<image 1> or <image 2>?", 1, "the question"),
        *("the question", "2 pictures", "'<image 2>'", "1 picture", "for each, or write"),
    ),
    "completion": (lambda _: read_sample({}, 3), "messages", "the assistant's", "3"),
    "completion's keys": (
        lambda _: read_sample({}, [{"role": "assistant", "utterance": "A dog."}]),
        *("role, utterance",),
    ),
    "column of the data": (
        lambda _: read_columns({"caption": 3}, {"reference": "caption"}),
        *("column 'caption'", "list of texts"),
    ),
    "box": (
        lambda _: read_sample({"bbox": [1, 2, 3]}, "x"),
        *("column 'bbox'", "four numbers"),
    ),
    "box by shares": (
        lambda _: with_box(Image.new("RGB", (640, 480)), (0.1, 0.2, 0.5, 0.6)),
        *("multiply shares", "640 x 480"),
    ),
    "box outside": (lambda _: with_box(opened(RED), (0, 0, 9, 5)), "x0 < x1", "of 1 x 1 pixels"),
    "picture at a URL": (lambda _: opened("https://a.org/b.png"), "a URL", "nothing is downloaded"),
    "picture gone": (lambda _: opened("none.png"), "no picture", "none.png"),
    "picture of numbers": (lambda _: opened(torch.zeros(3, 2, 2)), "PIL image", "Tensor"),
    "pictures": (lambda _: open_pictures([RED] * 65), "65 pictures", "64"),
    "rows gone": (lambda _: score(overlap, "gone.jsonl"), "no input file", "gone.jsonl"),
    "rows that are none": (
        lambda _: score(overlap, cast(Any, ["A dog."])),
        *("row 1", "'A dog.'", "frame.to_dict"),
    ),
    "rows that are a frame": (
        lambda _: score(overlap, pd.DataFrame([{"completion": "x"}])),
        *("'completion'", "frame.to_dict"),
    ),
    "rows of no reward": (lambda _: score("posh", []), "takes a reward", "PoshReward('match')"),
    "rows without a column": (
        lambda _: score(overlap, [{"completion": "x"}]),
        *("overlap needs", "'reference'", "['completion']", "rename the key"),
    ),
    "rows that are no JSON": (
        lambda folder: list(read_table(written(folder / "a.jsonl", "id,text\n1,A dog.\n"))),
        *("a.jsonl line 1", "not JSON", "one a line"),
    ),
    "rows' columns": (
        lambda folder: list(
            read_table(written(folder / "a.jsonl", '{"text": "x"}\n'), {"reference": "txet"})
        ),
        *("'txet'", "['text']"),
    ),
    "no rows": (lambda folder: scored(folder, {}, rows=" \n"), "rows.jsonl", "no rows"),
    "output of other settings": (
        lambda folder: scored(folder, {"judge": "a"}, {"judge": "b"}),
        *("out.jsonl", "{'judge': 'a'}", "{'judge': 'b'}", "choose another output"),
    ),
    "settings of an output": (
        lambda folder: settled(folder, 1, 2),
        *("{'a': 1}", "{'a': 2}", "choose another output"),
    ),
    "output that is the input": (
        lambda folder: check_apart([folder / "a"], [folder / "a"]),
        *("is an input", "choose another"),
    ),
    "numbers of another command": (
        lambda folder: check_json(written(folder / "n.json", "{}"), {"a": None}, overwrite=False),
        *("n.json exists", "'a'"),
    ),
    "length's pairs": (lambda _: control_length([1], [(1, 2), (3, 4)]), "got 1, 2 and 1"),
    "length of a text": (lambda _: control_length([1], [(-1, 2)]), "0 or more", "-1"),
    "p value": (lambda _: holm([1.2]), "[0, 1]", "1.2"),
    "ratio": (lambda _: ratio_interval([1, 2], [1]), "numerators", "denominators"),
    "pair of one": (lambda _: Pair("a", "a", 1), "two players"),
    "pair's outcome": (lambda _: Pair("a", "b", 2), "1, 0 or -1"),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_a_user_is_told_what_and_the_cure(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SPANREWARD_API_KEY", raising=False)
    make, *words = MESSAGES[name]
    told(
        lambda: make(tmp_path),
        (ValueError, TypeError, OSError, ImportError, NotImplementedError),
        words,
    )
