"""What a user is told of a mistake: each message names the object, both values and the cure, in one
sentence or two. Elsewhere tests look at an error's type and at what it names.

A row is a mistake, and words of its message: the object first, the cure last.
"""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from datasets import Dataset
from PIL import Image

from experiments.scenes.parts import SCENES, TINY, scenes_part
from spanreward.rewards import HarmonicReward, LaveReward, PoshReward
from spanreward.training.data.load import load_data
from spanreward.training.data.marks import read_marked
from spanreward.training.evaluation.answers.prompts import prompts_of, prompts_of_file
from spanreward.training.evaluation.answers.sides import read_answers
from spanreward.training.grpo.config import SpanGRPOConfig
from spanreward.training.grpo.preflight import check_rows
from spanreward.training.policy import load_policy
from spanreward.training.recipe import FilePart, JsonlPart, MixedPart, RecipeError, load_recipe
from tests.support.data_parts import jsonl
from tests.support.files import a_file, write_lines
from tests.support.messages import told
from tests.support.paths import ROOT

DAPO, SFT = (ROOT / f"recipes/quickstart/scenes-{name}.yaml" for name in ("dapo", "sft"))
CASCADE = "rewards.0.judge={cascade: "


def table(*rows: tuple[Any, ...]) -> Any:
    """Parametrizes a test by the rows, each with its words as its id."""
    return pytest.mark.parametrize(
        ("mistake", "words"), [pytest.param(row[0], row[1:], id=" ".join(row[1:])) for row in rows]
    )


MISSPELT = [
    ("sed=1", "sed", "seed"),
    ("policy.modle=tiny", "policy.modle", "model"),
    ("policy.lora.alpa=3", "policy.lora.alpa", "alpha"),
    ("data.cuont=3", "data.cuont", "count"),
    ("rewards.0.metrc=posh", "rewards.0.metrc", "metric"),
    ("rewards.0.judge={name: match, cashe: true}", "rewards.0.judge.cashe", "cache"),
    ("trainer.learning_rte=1", "trainer.learning_rte", "learning_rate"),
    ("output_dir=out", "output_dir", "output"),
    (CASCADE + "{student: match, teacher: match, aduit: 1}}", "rewards.0.judge.cascade.aduit",
        "audit"),
    (CASCADE + "{student: match, teacher: {name: match, cashe: true}}}",
        "rewards.0.judge.cascade.teacher.cashe", "cache"),
    ("data={source: mixed, parts: [{source: hub, idd: a}]}", "data.parts.0.idd", "id"),
]  # fmt: skip
WRONG_VALUES = [
    ("seed=abc", "seed", "'abc'"),
    ("algorithm=ppo", "algorithm", "'ppo'"),
    ("policy.dtype=int8", "policy.dtype", "'int8'"),
    ("policy.lora.r=0", "policy.lora.r", "0"),
    ("data.count=0", "recipe key data.count", "0"),
    ("data={source: hub, id: a, max_pixels: 0}", "data.max_pixels", "0"),
    ("data={source: hub, id: a, columns: {picture: image}}", "data.columns.picture.[key]",
        "'picture'"),
    ("validation={count: 0}", "validation.count", "0"),
    ("rewards=null", "rewards", "None"),
    ("rewards.0.judge=3", "rewards.0.judge", "3"),
    (CASCADE + "3}", "rewards.0.judge.cascade", "3"),
    (CASCADE + "{student: 3, teacher: match}}", "rewards.0.judge.cascade.student", "3"),
    (CASCADE + "{student: match, teacher: match, sure: -1}}", "judge.cascade.sure", "-1"),
    (CASCADE + "{student: match, teacher: match, sure: true}}", "judge.cascade.sure", "True"),
    (CASCADE + "{student: match, teacher: match, audit: 2}}", "judge.cascade.audit", "2"),
]  # fmt: skip
SETTINGS = [
    ("num_generations=1", "greater than", "equal to 2", "1"),
    ("num_generations='8'", "valid integer", "'8'"),
    ("learning_rate=-1e-5", "greater than", "equal to 0", "-1e-05"),
    ("learning_rate=.nan", "less than", "equal to 1", "nan"),
    ("learning_rate=5", "less than", "equal to 1", "5"),
    ("span_coef=-1", "greater than", "equal to 0", "-1"),
    ("span_coef=.inf", "finite number", "inf"),
    ("max_steps=0", "-1 or greater than", "equal to 1", "0"),
    ("max_failed_fraction=2", "less than", "equal to 1", "2"),
    ("temperature=0", "greater than 0", "0"),
    ("dynamic_sampling=1", "valid boolean", "1"),
    ("save_strategy=step", "'no', 'steps', 'epoch' or 'best'", "'step'"),
    ("logging_strategy=no", "'no', 'steps' or 'epoch'", "quote it", "False"),
    ("loss_type=dapoo", "'grpo', 'dr_grpo', 'dapo', 'bnpo'", "or 'vespo'", "'dapoo'"),
    ("scale_rewards=std", "'group', 'batch' or 'none'", "'std'"),
    ("vllm_mode=colocated", "'colocate' or 'server'", "'colocated'"),
    ("optim=adam", "Input should be", "'adam'"),
    ("report_to=wandbb", "Input should be", "'wandbb'"),
    ("report_to=[wandbb]", "Input should be", "['wandbb']"),
]
OVERRIDES = [
    *((change, f"'{key}'", f"did you mean '{nearest}'") for change, key, nearest in MISSPELT),
    *((change, f"{key}:", f"got {value}.") for change, key, value in WRONG_VALUES),
    *((f"trainer.{change}", f"key trainer.{change.partition('=')[0]}:", *words, f", got {value}")
      for change, *words, value in SETTINGS),
    ("span_coef=0.5", "'span_coef'", "belongs under trainer", "grpo or dapo"),
    ("span_coeff=0.5", "'span_coeff'", "'span_coef', under trainer", "grpo or dapo"),
    ("learning_rate=1e-5", "'learning_rate'", "belongs under trainer."),
    ("completion_only_loss=true", "'completion_only_loss'", "under trainer", "is sft."),
    ("judge=match", "'judge'", "belongs under rewards."),
    ("policy.r=8", "'policy.r'", "belongs under lora."),
    ("trainer.spans_every=9", "'trainer.spans_every'", "at the top level."),
    ("check={reward_rises: true}", "'check'", "valid are algorithm, data,"),
    ("data.answers=human", "'data.answers'", "belongs under data.columns."),
    ("data={source: jsonl, path: x, split: val}", "'data.split'", "data of source hub."),
    ("policy.path=tiny", "'policy.path'", "source jsonl", "Valid here are dtype,"),
    ("rewards.0.judge={model: tiny}", "judge.model'", "under policy", "Valid here are cache,"),
    ("rewards.0.mode=published", "'rewards.0.mode'", "belong under options."),
    ("policy.qqq=1", "'policy.qqq'", "valid are dtype, lora,"),
    ("trainer.qqq=1", "'trainer.qqq'", "valid are accelerator_config,", "and 1"),
    ("policy=tiny", "key policy:", "{model: ...}", "'tiny'"),
    ("referees=[lave]", "key referees.0:", "{metric: ...}", "'lave'"),
    ("data=rows.jsonl", "key data:", "jsonl, hub, mixed or", "FILE.py:FUNCTION"),
    ("data.source=zip", "key data:", "jsonl, hub, mixed or", "'zip'"),
    ("data={source: mixed, parts: [{source: zip}]}", "key data.parts.0:", "'zip'"),
    ("data={source: jsonl, path: x, level: 1}", "'data.level'", "valid are columns, count,"),
    ("data={source: mixed, parts: []}", "key data.parts:", "at least 1"),
    ("data={source: hub, id: a, streaming: true}", "key data:", "streaming needs a count"),
    ("seed", "key=value", "got 'seed'"),
    ("seed.a=1", "seed.a", "seed holds 0"),
    ("seed=[1", "value of seed", "not YAML"),
    ("rewards.5.judge=match", "rewards.5.judge", "'5'", "0 .. 0"),
    ("rewards.x.judge=match", "rewards.x.judge", "'x'", "0 .. 0"),
    ("rewards=[]", "dapo recipe", "under rewards", "{metric: posh}"),
    *((f"trainer.{key}=1", f"trainer.{key}", "by the recipe itself", "use output,")
      for key in ("output_dir", "seed", "reward_weights")),
    (CASCADE + "{student: match}}", "rewards.0.judge.cascade.teacher:", "required"),
    (CASCADE + "{student: match, teacher: {nam: x}}}", "'rewards.0.judge.cascade.teacher.nam'"),
    *((f"rewards.0.judge={judge}", "rewards.0.judge:", "has a name", "{cascade: {student:")
      for judge in ("cascade", "{}", "{name: match, cascade: {student: match, teacher: match}}",
                    "{cascade: {student: match, teacher: match}, options: {sure: 1}}")),
]  # fmt: skip


@table(*OVERRIDES)
def test_a_recipe_and_its_overrides(mistake: str, words: tuple[str, ...]) -> None:
    told(lambda: load_recipe(DAPO, [mistake]), RecipeError, words)


@table(
    ("span_coef=4", "'trainer.span_coef'", "under trainer", "grpo or dapo"),
    ("num_generations=4", "'trainer.num_generations'", "under trainer", "grpo or dapo"),
    ("packing=dense", "trainer.packing:", "valid boolean", "got 'dense'"),
    ("loss_type=dapo", "trainer.loss_type:", "'nll', 'dft' or 'chunked_nll'", "got 'dapo'"),
)
def test_a_recipe_of_sft(mistake: str, words: tuple[str, ...]) -> None:
    told(lambda: load_recipe(SFT, [f"trainer.{mistake}"]), RecipeError, words)


BASE: dict[str, Any] = {"algorithm": "sft", "output": "o", "policy": {"model": "tiny"}}
BASE["data"] = {"source": "rows.py:rows"}
HUB = {"source": "hub", "id": "a/b"}


def changed(**changes: Any) -> str:
    return yaml.safe_dump(
        {key: value for key, value in {**BASE, **changes}.items() if value is not None}
    )


@table(
    ("- seed\n", "recipe.yaml", "keys and values", "holds list"),
    ("seed\n", "recipe.yaml", "keys and values", "holds str"),
    ("", "recipe.yaml", "keys and values", "holds NoneType"),
    ("a: [1", "recipe.yaml", "is not YAML"),
    (b"output: \xff\n", "recipe.yaml", "cannot be read", "utf-8"),
    (None, "recipe.yaml", "there is no recipe"),
    (changed(output=None), "recipe key output:", "required"),
    (changed(policy=None, polcy={"model": "tiny"}), "'polcy'", "did you mean 'policy'"),
    (changed(data="none.yaml"), "key data:", "none.yaml", "from the recipe's folder"),
    (changed(data="listed.yaml"), "listed.yaml", "keys and values", "holds list"),
    *((changed(algorithm=name), f"a {name} recipe", "under rewards", "{metric: posh}")
      for name in ("grpo", "dapo")),
    (changed(data=HUB, validation={"splitt": "val"}), "'validation.splitt'",
        "did you mean 'split'"),
)  # fmt: skip
def test_a_recipe_s_file(tmp_path: Path, mistake: Any, words: tuple[str, ...]) -> None:
    path = tmp_path / "recipe.yaml"
    (tmp_path / "listed.yaml").write_text("- scenes\n")
    if mistake is not None:
        path.write_bytes(mistake.encode() if isinstance(mistake, str) else mistake)
    told(lambda: load_recipe(path), RecipeError, words)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working folder with a picture, red.png."""
    monkeypatch.chdir(tmp_path)
    Image.new("RGB", (8, 8), "red").save("red.png")


ASKED = {"image": "red.png", "question": "Is it red?", "answers": ["yes"]}
CAPTION = {"image": "red.png", "reference": "A red wall."}
TEXT_ONLY = {"prompt": "Say it.", "reference": "A wall."}
seen: Callable[..., dict[str, Any]] = partial(dict, image="red.png")


@table(
    ("{", "is not JSON"),
    ("3", "JSON object", "3"),
    ({**CAPTION, "reference": "\ud800"}, "is not JSON", "surrogates not allowed"),
    ({"picture": "a", "reference": "A."}, "'image'", "['picture', 'reference']",
        "set data.col"),
    ({"question": "What?", "answers": "a"}, "'image'", "needs a 'prompt'"),
    ({"image": None, "reference": "A dog."}, "a picture", "NoneType"),
    ({"image": "gone.png"}, "there is no picture", "gone.png", "from the working folder"),
    ({"image": "https://a.org/a.png"}, "'https://a.org/a.png'", "nothing is downloaded"),
    ({"prompt": ["Say it."]}, "'prompt'", "hold a text", "['Say it.']"),
    (seen(question=3), "'question'", "hold a text", "got 3"),
    (seen(question=["a", "b"]), "'question'", "hold a text", "got ['a', 'b']"),
    (seen(answers=2), "'answers'", "a list of texts", '{"answer": text}', "got 2"),
    (seen(answers=["2", 2]), "'answers'", "got ['2', 2]"),
    (seen(answers=[{"text": "no"}]), "'answers'", "got [{'text': 'no'}]"),
    (seen(reference=3), "'reference'", "hold a text", "got 3"),
    (seen(context=["A wall."]), "'context'", "hold a text", "got ['A wall.']"),
    (seen(task=1), "'task'", "hold a text", "got 1"),
    (seen(bbox=[1, 2, 3]), "'bbox'", "hold four numbers", "got [1, 2, 3]"),
    (seen(bbox=[30, 2, 20, 4]), "'bbox'", "x0 < x1, y0", "[30, 2, 20, 4]"),
    (seen(bbox=[0, 0, True, 4]), "'bbox'", "got [0, 0, True, 4]"),
    (seen(bbox=[0, 0, float("nan"), 4]), "'bbox'", "got [0, 0, nan, 4]"),
    (seen(bbox=[0, 0, 4, 10**400]), "'bbox'", "got [0, 0, 4, 1000"),
    (seen(bbox="0 0 4 4"), "'bbox'", "got '0 0 4 4'"),
    (seen(question="Is <image 1> like <image 2>?"), "'<image 2>'", "2 pictures", "1 picture:"),
    ({"images": ["red.png"] * 2, "prompt": "Which?", "reference": "A."}, "one picture", "2"),
    (TEXT_ONLY, "has no picture", "unlike the rows", "a picture"),
)  # fmt: skip
@pytest.mark.usefixtures("here")
def test_a_row_of_the_data(mistake: Any, words: tuple[str, ...]) -> None:
    data = jsonl(Path(), ASKED, mistake, prompt="Say: {question}")
    told(lambda: load_data(data), RecipeError, ("rows.jsonl line 2", *words))


def not_utf8() -> None:
    Path("rows.jsonl").write_bytes(b'{"image": "red.png"}\n{"reference": "caf\xe9"}\n')
    load_data(JsonlPart(source="jsonl", path="rows.jsonl"))


def several_targets() -> None:
    answered = {**ASKED, "answers": ["dog", "a dog", "cat"], "reference": ["A red dog.", "A."]}
    load_data(jsonl(Path(), CAPTION, answered), completions=True)


def mixed(first: Any, second: Any) -> None:
    parts = [jsonl(Path(), first, name="first.jsonl"), jsonl(Path(), second)]
    load_data(MixedPart(source="mixed", parts=parts))


@table(
    (lambda: load_data(JsonlPart(source="jsonl", path="none.jsonl")), "none.jsonl",
        "data.path=PATH"),
    (not_utf8, "line 2", "byte 18", "as UTF-8"),
    (lambda: load_data(jsonl(Path())), "data of jsonl", "something to judge by"),
    (lambda: load_data(jsonl(Path(), {**CAPTION, "reference": None})), "data of jsonl", "no row"),
    (lambda: load_data(jsonl(Path(), {"image": "red.png"}), completions=True), "data of jsonl",
        "a reference or answers"),
    (several_targets, "row 2", "'dog'", "'A red dog.'", "set data.target"),
    (lambda: load_data(jsonl(Path(), CAPTION, columns={"reference": "said", "answers": "b"})), "line 1",
        "'said' or 'b'", "['image', 'reference']", "set data.columns"),
    (lambda: load_data(jsonl(Path(), TEXT_ONLY, columns={"image": "file"})), "line 1", "'file'",
        "set data.columns"),
    (lambda: load_data(jsonl(Path(), {**TEXT_ONLY, "prompt": "<image>\nWhat?"})), "line 1", "'<image>",
        "no picture"),
    (lambda: load_data(jsonl(Path(), TEXT_ONLY, CAPTION)), "line 2", "has a picture", "all rows"),
    (lambda: mixed(TEXT_ONLY, CAPTION), "parts of the data", "all rows"),
    (lambda: mixed(CAPTION, TEXT_ONLY), "parts of the data", "all rows"),
)  # fmt: skip
@pytest.mark.usefixtures("here")
def test_the_data(mistake: Callable[[], Any], words: tuple[str, ...]) -> None:
    told(mistake, RecipeError, words)


OWN = """
def rows(size=8, more=()):
    yield {"image": "red.png", "reference": "A red wall."}
    yield from more

def picky(split):
    raise ValueError(f"no split {split}")
    yield {}

names = "no function"
"""


def own_row(row: Any) -> FilePart:
    return FilePart(source="own.py:rows", options={"more": [row]})


@table(
    (FilePart(source="none.py:rows"), "none.py", "there is no file"),
    (FilePart(source="own.py:row"), "own.py", "function row", "did you mean 'rows'?"),
    (FilePart(source="own.py:names"), "own.py", "function names", "write it there"),
    (FilePart(source="own.py:rows", options={"sise": 5}), "own.py:rows", "{'sise': 5}",
        "unexpected keyword argument 'sise'"),
    (FilePart(source="own.py:picky", options={"split": "dev"}), "own.py:picky",
        "{'split': 'dev'}", "no split dev"),
    (own_row(3), "own.py:rows row 2", "a mapping", "got 3"),
    (own_row({"reference": "A."}), "own.py:rows row 2", "'image'", "['reference']"),
    (own_row({"image": 3}), "own.py:rows row 2", "a PIL image", "got int"),
    (own_row({"image": "none.png"}), "own.py:rows row 2", "there is no picture", "none.png"),
    (own_row({"image": "red.png", "reference": 3}), "row 2", "'reference'", "hold a text"),
)  # fmt: skip
@pytest.mark.usefixtures("here")
def test_data_of_a_function_of_one_s_own(mistake: FilePart, words: tuple[str, ...]) -> None:
    Path("own.py").write_text(OWN)
    told(lambda: load_data(mistake), RecipeError, words)


@pytest.mark.parametrize(
    "name",
    ["text.jpg", "empty.png", "half.png", "half.jpg", "", "pipe.png", "a\0.png", "/dev/zero"],
)
@pytest.mark.usefixtures("here")
def test_a_picture_that_cannot_be_read(name: str) -> None:
    """Half a JPEG has a whole header."""
    Path("text.jpg").write_text("I am not a picture")
    Path("empty.png").touch()
    os.mkfifo("pipe.png")
    for ending in ("png", "jpg"):
        Image.effect_noise((256, 256), 50).save(f"whole.{ending}")
        content = Path(f"whole.{ending}").read_bytes()
        Path(f"half.{ending}").write_bytes(content[: len(content) // 2])
    assert Image.open("half.jpg").size == (256, 256)
    data = jsonl(Path(), CAPTION, {"image": name, "reference": "A dog."})
    words = ("line 2", name.partition("\0")[0], "cannot be read as")
    told(lambda: load_data(data), RecipeError, words)


MARKED = {"id": 7, "completion": "A red, red cat.", "reference": "A blue cat.", "mistakes": ["cat"]}


@table(
    ({"completion": "A dog."}, "'mistakes'", "only completion", "--columns mistakes=NAME"),
    ({"mistakes": []}, "'completion'", "only mistakes"),
    ({**MARKED, "completion": 3}, "a completion", "a text or messages"),
    ({**MARKED, "reference": 3}, "'reference'", "a list of texts"),
    ({**MARKED, "mistakes": [[0, 20]]}, "'mistakes'", "15 characters", "[0, 20]"),
    ({**MARKED, "mistakes": "red"}, "'mistakes'", "[start, end]", "got 'red'"),
    ({**MARKED, "mistakes": None}, "'mistakes'", "[start, end]", "got None"),
    ({**MARKED, "mistakes": ["red"]}, "'mistakes'", "['red', 1]", "2 times", "got 'red'"),
    ({**MARKED, "mistakes": [["red", 3]]}, "'mistakes'", "whole words", "got ['red', 3]"),
    ({**MARKED, "mistakes": [["red", 0]]}, "'mistakes'", "whole words", "got ['red', 0]"),
    ({**MARKED, "mistakes": ["re"]}, "'mistakes'", "whole words", "got 're'"),
    ({**MARKED, "mistakes": [""]}, "'mistakes'", "whole words", "got ''"),
    ({**MARKED, "completion": "\ud800"}, "is not JSON"),
    ([1], "JSON object", "[1]"),
)
def test_a_marked_row(tmp_path: Path, mistake: Any, words: tuple[str, ...]) -> None:
    path = a_file(tmp_path, mistake)
    told(lambda: read_marked(path), ValueError, ("labels.jsonl line 1", *words))


def answers(*lines: Any) -> None:
    read_answers(
        str(write_lines("answers.jsonl", lines)), [{"id": name} for name in ("1", "2", "3")]
    )


def asked(*rows: Any, slices: tuple[str, ...] = ()) -> None:
    prompts_of_file(jsonl(Path(), *rows).path, 10, list(slices))


def empty_marks() -> None:
    Path("labels.jsonl").write_text("\n")
    read_marked(Path("labels.jsonl"))


ONE = {"id": "1", "completion": "A."}


@pytest.mark.parametrize(
    ("mistake", "error", "words"),
    [
        pytest.param(call, error, words, id=" ".join(words))
        for call, error, *words in [
            (lambda: read_marked(Path("none.jsonl")), FileNotFoundError, "none.jsonl",
                "no input file"),
            (lambda: load_recipe(jsonl(Path(), CAPTION).path), RecipeError, "rows.jsonl",
                "table of rows"),
            (empty_marks, ValueError, "labels.jsonl", "holds no rows"),
            (lambda: read_marked(a_file(Path(), MARKED), {"refrence": "text"}), ValueError,
                "column 'refrence'", "did you mean 'reference'"),
            (partial(answers, ONE), RecipeError, "2 of the 3", "'2'"),
            (partial(answers, {**ONE, "id": 9}), RecipeError, "3 of the 3", "'1'", "'9'"),
            (partial(answers, ONE, ONE), ValueError, "line 2", "'1'", "keep one answer"),
            (partial(answers, {"id": "1", "text": "A."}), ValueError, "line 1", "a completion",
                "{'id': '1', 'text'"),
            (partial(answers, {"completion": "A."}), ValueError, "line 1", "needs an id"),
            (partial(answers, ["1", "A."]), ValueError, "line 1", "JSON object"),
            (partial(asked, {"id": "a"}, {"id": "a"}), RecipeError, "line 2", "'a'",
                "an earlier line"),
            (partial(asked, {"reference": 3}), RecipeError, "'reference'", "a list of texts"),
            (partial(asked, {"image": "none.png"}), RecipeError, "none.png",
                "there is no picture"),
            (asked, RecipeError, "holds no row"),
            (lambda: prompts_of_file("none.jsonl", 10), FileNotFoundError, "none.jsonl",
                "no input file"),
            (partial(asked, CAPTION, slices=("era",)), RecipeError, "--slice era",
                "has this column"),
            (lambda: prompts_of(scenes_part(count=2), ["era"]), RecipeError, "--slice era",
                SCENES),
        ]
    ],
)  # fmt: skip
@pytest.mark.usefixtures("here")
def test_files_of_a_comparison_and_of_labels(
    mistake: Callable[[], Any], error: type[Exception], words: list[str]
) -> None:
    told(mistake, error, tuple(words))


@table(
    ("none.py:small", "none.py", "there is no file"),
    ("own.py:row", "function row", "did you mean 'rows'"),
    ("own.py:names", "function names", "write it there"),
    ("outputs/none/seed0/base", "'outputs/none/seed0/base'", "run its recipe first"),
)
@pytest.mark.usefixtures("here")
def test_a_policy(mistake: str, words: tuple[str, ...]) -> None:
    Path("own.py").write_text(OWN)
    told(lambda: load_policy(mistake), RecipeError, words)


@table(
    ({"loss_type": "vespo", "span_coef": 0.1}, "loss_type='vespo'", "moves all tokens"),
    ({"loss_type": "dapoo"}, "loss_type:", "'dr_grpo'", "got 'dapoo'"),
    ({"off_policy_mask_threshold": 0.5, "span_coef": 0.1}, "off_policy_mask_threshold",
        "moves all tokens"),
    ({"importance_sampling_level": "sequence", "span_coef": 0.1}, "level='sequence'",
        "moves all tokens"),
    ({"top_entropy_quantile": 0.5, "span_coef": 0.1}, "top_entropy_quantile=0.5",
        "leaves tokens out"),
    ({"max_resamples": 0}, "max_resamples:", "equal to 1", "got 0"),
    ({"soft_overlong_cache": 0}, "soft_overlong_cache:", "equal to 1", "got 0"),
    ({"soft_overlong_cache": 600}, "soft_overlong_cache", "600 and 512"),
    ({"num_generations": 3, "per_device_train_batch_size": 8}, "(8)",
        "divisible by num_generations (3)"),
)  # fmt: skip
def test_settings_of_grpo(tmp_path: Path, mistake: dict[str, Any], words: tuple[str, ...]) -> None:
    settings = {"output_dir": str(tmp_path), "use_cpu": True, "bf16": False, **mistake}
    told(lambda: SpanGRPOConfig(**settings), ValueError, words)


USER = {"role": "user", "content": "What is it?"}
BOXES = {"question": ["a", "b"], "answers": ["x", "y"], "bbox": [None, [1.0, 2.0]]}


def checked(
    reward: Any = None, prompt: Any = (USER,), name: str = "train_dataset", **columns: Any
) -> None:
    data = Dataset.from_dict({"prompt": [[USER], prompt and list(prompt)], **columns})
    given = {"hard": data} if name == "eval_dataset" else data
    check_rows([reward] if reward else [], load_policy(TINY)[1], name, given)


@table(
    (partial(checked, prompt=[USER, {"role": "assistant", "content": "It is"}],
        image=[None] * 2), "row 2", "in an assistant"),
    (partial(checked, prompt=[{**USER, "content": " "}], image=[None] * 2), "row 2",
        "is empty"),
    (partial(checked, prompt=None, image=[None] * 2), "row 2", "role and content", "got None"),
    (partial(checked, prompt=[{**USER, "content": "<image>\nWhat?"}], image=[None] * 2),
        "row 2", "'<image>'"),
    (partial(checked, LaveReward("match"), **BOXES), "row 2", "lave", "'bbox'",
        "four numbers"),
    (partial(checked, LaveReward("match"), name="eval_dataset", **BOXES),
        "eval_dataset['hard'] row 2", "'bbox'"),
    (partial(checked, HarmonicReward("match"), other=["x"] * 2), "harmonic",
        "'image' or 'images' or 'context'"),
    (partial(checked, PoshReward("match", evidence="picture"), reference=["A dog."] * 2),
        "posh", "'image' or 'images'"),
)  # fmt: skip
def test_rows_of_a_trainer(mistake: Callable[[], Any], words: tuple[str, ...]) -> None:
    told(mistake, ValueError, words)
