"""The options of commands that ask a judge or build a metric, and what they make.

    add_judge_options(parser)
    judge = judge_of(parser.parse_args(["--judge", "vllm:smollm2", "--judge-option", "memory=2e9", "--no-cache"]))

    add_rows_options(parser)                               # --columns reference=caption --limit 100
    add_metric_options(parser)                             # these, and `mode=published gamma=1` for the metric
    with open_metric("posh", parser.parse_intermixed_args()) as (reward, settings):
        reward.judge_samples(samples)

Heavy imports wait until a judge is made, so that `--help` is quick.
"""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spanreward.rewards.files.outputs import check_apart, check_json

if TYPE_CHECKING:
    from spanreward.rewards.reward.reward import Reward

JUDGES = (
    "match (no model), encoder:MODEL, transformers:MODEL, vllm:MODEL (extra vllm), "
    "server:URL#MODEL, chat:URL#MODEL, cascade, FILE.py:NAME, or several of them with + between"
)
CACHE = (
    "read the judge's answers from ratings.sqlite in the cache folder ($XDG_CACHE_HOME/spanreward, or "
    "~/.cache/spanreward), and keep new ones there (default: for judges with a model, not for match)"
)
OF_JUDGE = "an argument of the judge's class, such as memory=2e9, batch_size=8 or deadline=60; may be repeated"
COLUMNS = "the file's name for a column of ours, such as reference=caption; may be repeated"
OF_METRIC = "an argument of the metric's class, such as mode=published, score=precision (posh) or gamma=1 (harmonic)"


def add_cache_option(parser: argparse.ArgumentParser) -> None:
    """Adds --cache and --no-cache: True, False, or None where neither is given."""
    parser.add_argument("--cache", action=argparse.BooleanOptionalAction, default=None, help=CACHE)


def add_judge_options(parser: argparse.ArgumentParser) -> None:
    add_cache_option(parser)
    parser.add_argument("--judge-option", action="append", default=[], metavar="key=value", help=OF_JUDGE)


def add_metric_options(parser: argparse.ArgumentParser, overwrite: str = "") -> None:
    """overwrite: the outputs that --overwrite begins anew, where there is such an option."""
    add_judge_options(parser)
    parser.add_argument("options", nargs="*", metavar="key=value", help=OF_METRIC)
    if overwrite:
        parser.add_argument("--overwrite", action="store_true", help=f"begin {overwrite} anew, if there is one")


def check_files(
    arguments: argparse.Namespace, output: Path | None, inputs: Iterable[Any], page: Path | None = None, **like: Any
) -> None:
    """Raises ValueError for an output, page or --json that must not be written (rewards/files/outputs.py). Files in
    names such as FILE.py:NAME and in options such as prompts=FILE are inputs too. like: of `check_json`.
    """
    words = [str(path) for path in (*inputs, arguments.judge, *arguments.judge_option, *arguments.options) if path]
    read = [Path(part) for word in words for part in (word, word.rpartition(":")[0], word.partition("=")[2]) if part]
    check_apart([output, output and output.with_name(f"{output.name}.settings.json"), page, arguments.json], read)
    check_json(arguments.json, like, arguments.overwrite)


def add_rows_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--columns", action="append", default=[], metavar="OURS=THEIRS", help=COLUMNS)
    parser.add_argument("--limit", type=int, metavar="N", help="the first N rows only")


def renamed(columns: Sequence[str]) -> dict[str, str]:
    """Returns {our name: the file's} of --columns. Raises ValueError for a text without =."""
    names = dict(text.partition("=")[::2] for text in columns)
    if not all(map(all, names.items())):
        raise ValueError(f"--columns is written OURS=THEIRS, such as reference=caption, got {', '.join(columns)}.")
    return names


def judge_of(arguments: argparse.Namespace) -> Any:
    """Returns the judge of --judge and the other options. Raises ValueError for unknown names and options."""
    from spanreward.rewards.judges import load_judge

    options = dict(read_option(text) for text in arguments.judge_option)
    return load_judge(arguments.judge, arguments.cache, **options)


@contextmanager
def open_metric(name: str, arguments: argparse.Namespace) -> Iterator[tuple["Reward", dict[str, Any]]]:
    """Yields the metric of this name with the judge of --judge, if one is given, and closes the judge at the end. Also
    yields what decides its verdicts: its name, judge, options, prompts and what parses its texts. Raises ValueError for
    unknown names, options and values.
    """
    from spanreward.rewards.judges import closing
    from spanreward.rewards.metrics import build_reward

    options = dict(read_option(text) for text in arguments.options)
    judge = judge_of(arguments) if arguments.judge else None
    reward = build_reward(name, judge, options)
    asked = "" if judge is None else judge.name
    settings = {"reward": name, "judge": asked, "options": options, "prompts": reward.wording}
    settings["parsed_by"] = reward.reader()
    with closing([judge] if judge is not None else []):
        yield reward, settings


def read_option(text: str) -> tuple[str, Any]:
    """Returns the key and the YAML value of `key=value`; 2e9 is a number too. Raises ValueError."""
    from spanreward.training.recipe_file import RecipeError, read_yaml

    key, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"an option is written key=value, got {text!r}.")
    try:
        return key, read_yaml(value, f"the value of {key}")
    except RecipeError:
        raise ValueError(f"the value of {text!r} cannot be read as YAML: put quotes around it.") from None
