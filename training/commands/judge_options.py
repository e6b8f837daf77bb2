"""What scripts that ask a judge have in common: how their command lines say how it is made and what it remembers.

    add_judge_options(parser)
    judge = judge_of(parser.parse_args(["--judge", "vllm:smollm2", "--judge-option", "memory=2e9", "--no-cache"]))

Nothing heavy is imported before a judge is asked for, so that `--help` is quick.
"""

import argparse
from typing import Any

CACHE_HELP = (
    "read the judge's answers from ratings.sqlite in the cache folder ($XDG_CACHE_HOME/spanreward, or "
    "~/.cache/spanreward), and keep new ones there (default: for judges with a model, not for match)"
)


def add_cache_option(parser: argparse.ArgumentParser) -> None:
    """--cache and --no-cache: True, False, or None where neither is given."""
    parser.add_argument("--cache", action=argparse.BooleanOptionalAction, default=None, help=CACHE_HELP)


def add_judge_options(parser: argparse.ArgumentParser) -> None:
    """--cache, --no-cache and --judge-option, for `judge_of`."""
    add_cache_option(parser)
    parser.add_argument(
        "--judge-option",
        action="append",
        default=[],
        metavar="key=value",
        help="an option of the judge's class, such as memory=2e9, batch_size=8 or deadline=60; may be repeated",
    )


def judge_of(arguments: argparse.Namespace) -> Any:
    """The judge of --judge, as the other options say. Raises ValueError for names and options that do not exist."""
    from rewards.judges import load_judge

    options = dict(read_option(text) for text in arguments.judge_option)
    return load_judge(arguments.judge, arguments.cache, **options)


def read_option(text: str) -> tuple[str, Any]:
    """`key=value` with a YAML value, where also 2e9 is a number. Raises ValueError."""
    from training.recipe_file import RecipeError, read_yaml

    key, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"an option is written key=value, got {text!r}.")
    try:
        return key, read_yaml(value, f"the value of {key}")
    except RecipeError:
        raise ValueError(f"the value of {text!r} cannot be read as YAML: put quotes around it.") from None
