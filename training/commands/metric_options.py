"""The flags of commands, each with one meaning in all of them, and the judge and the metric that
they make.

    add_flags(parser, *ALL_FLAGS, judge={"required": True})
    arguments = read_arguments(parser)     # --set mode=published judge.memory=2e9
    with open_metric("posh", arguments) as (reward, settings):
        reward.judge_samples(samples)

Heavy imports wait until a judge is made, so that `--help` is quick.
"""

import argparse
import json
import shlex
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spanreward.rewards.files.outputs import check_apart, check_json
from spanreward.training.recipe_file import RecipeError, read_yaml

if TYPE_CHECKING:
    from spanreward.rewards.reward.reward import Reward

JUDGES = (
    "match (no model), encoder:MODEL, transformers:MODEL, vllm:MODEL (extra vllm), "
    "server:URL#MODEL, chat:URL#MODEL, cascade, FILE.py:NAME, or several of them with + between"
)
CACHE_HELP = (
    "read the judge's answers from ratings.sqlite in the cache folder ($XDG_CACHE_HOME/spanreward, "
    "or ~/.cache/spanreward), and keep new ones there (default: for judges with a model, not for "
    "match)"
)
OF_JUDGE = (
    "options of the judge, such as judge.memory=2e9 (vllm: bytes for the KV cache), "
    "judge.batch_size=8 (transformers: questions at a time) or judge.deadline=60 (server, chat: "
    "seconds for a batch); docs/judges.md lists them"
)
COLUMNS_HELP = (
    "where the file calls a column otherwise: reference=caption reads its column caption as the "
    "reference"
)
QUIET_HELP = "print neither progress nor a table; warnings and errors stay"
OF_METRIC = (
    "options of the metric, such as mode=published, score=precision (posh) or gamma=1 (harmonic); "
    f"docs/metrics.md lists them; and {OF_JUDGE}"
)
OF_RECIPE = "recipe keys with dots, such as data.count=9 or rewards.0.judge=match"
OTHER_TABLES = (".csv", ".tsv", ".parquet", ".xlsx", ".gz")
TAKING_SEVERAL = ("--set", "--columns")
JUDGE_PREFIX = "judge."  # of the judge's options among those of --set
REFUSED_FROM = "0.2"  # the version without options that are written otherwise than by --set


class Once(argparse.Action):
    """Stores a value, and refuses a second one, which would replace the first without a word."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: Any,
        value: Any,
        flag: str | None = None,
    ) -> None:
        earlier = vars(namespace)[self.dest]
        # the same value twice does no harm
        if earlier not in (self.default, value):
            parser.error(f"{flag} is given twice, {earlier} and {value}: give one.")
        setattr(namespace, self.dest, value)


FLAGS: dict[str, dict[str, Any]] = {
    "judge": {
        "action": Once,
        "metavar": "JUDGE",
        "help": f"who answers the metric's questions, and needed where it asks any: {JUDGES}",
    },
    "cache": {"action": argparse.BooleanOptionalAction, "default": None, "help": CACHE_HELP},
    "options": {
        "action": "extend",
        "nargs": "+",
        "default": [],
        "metavar": "key=value",
        "help": OF_METRIC,
    },
    "columns": {
        "action": "extend",
        "nargs": "+",
        "default": [],
        "metavar": "OURS=THEIRS",
        "help": COLUMNS_HELP,
    },
    "limit": {"action": Once, "type": int, "metavar": "N", "help": "the first N rows only"},
    "output": {"action": Once, "type": Path, "metavar": "PATH", "help": "where what is made goes"},
    "overwrite": {"action": "store_true", "help": "replace what an earlier run left there"},
    "quiet": {"action": "store_true", "help": QUIET_HELP},
    "json": {
        "action": Once,
        "type": Path,
        "metavar": "PATH",
        "help": "write the printed numbers there too",
    },
}
OTHER_FLAG_NAMES = {"options": "--set"}  # of the flags that are not named as what they store
SHORT_FLAGS = {"output": "o", "quiet": "q"}  # of the flags that have a short form
JUDGE_FLAGS = ("judge", "options", "cache")
ROW_FLAGS = ("columns", "limit")
ALL_FLAGS = (*JUDGE_FLAGS, *ROW_FLAGS, "output", "overwrite", "json")
# flags for keys of a recipe
RECIPE_KEYS_OF_FLAGS = {"output": "output", "overwrite": "overwrite", "limit": "data.count"}
OF_RUN = {
    "output": {"help": "the same as --set output=PATH"},
    "overwrite": {"help": "the same as --set overwrite=true"},
    "limit": {"help": "the same as --set data.count=N"},
    "options": {"help": OF_RECIPE},
}


def add_flags(parser: argparse.ArgumentParser, *names: str, **changes: dict[str, Any]) -> None:
    """Adds these of FLAGS. changes: what a command says otherwise of one, such as its help or that
    it is required.
    """
    for name in names:
        flags = [OTHER_FLAG_NAMES.get(name, f"--{name}")]
        if name in SHORT_FLAGS:
            flags.append(f"-{SHORT_FLAGS[name]}")
        settings = FLAGS[name] | changes.get(name, {})
        parser.add_argument(*flags, dest=name, **settings)
    if "judge" in names:
        # the old way, accepted until REFUSED_FROM
        hidden = argparse.SUPPRESS
        parser.add_argument("--judge-option", action="append", default=[], help=hidden)


def add_words(parser: argparse.ArgumentParser) -> None:
    """Adds the words key=value without --set, an old way that is accepted until REFUSED_FROM. They
    come after the command's own words.
    """
    parser.add_argument("words", nargs="*", default=[], help=argparse.SUPPRESS)


def read_arguments(
    parser: argparse.ArgumentParser, command_line: Sequence[str] | None = None
) -> argparse.Namespace:
    """Returns what the command line says: as `options` those of --set, and of a command with a
    judge as `judge_option` those of the judge, without their prefix.

    Options in the old ways are among them, and one line on standard error says how to write them.
    command_line: that of the process where none is given.
    """
    if command_line is None:
        command_line = sys.argv[1:]
    arguments = parser.parse_intermixed_args(values_last(command_line))
    # what the command has of these
    names = vars(arguments)
    words = arguments.words if "words" in names else []
    judge_options = arguments.judge_option if "judge_option" in names else []
    # a word without = is a mistake that is told when options are read
    old = [word for word in words if "=" in word]
    old += [JUDGE_PREFIX + option for option in judge_options]
    if old:
        print(
            f"{parser.prog}: write --set {shlex.join(old)}: options written otherwise are refused "
            f"from {REFUSED_FROM} on.",
            file=sys.stderr,
        )
    if "options" in names:
        arguments.options = [*words, *arguments.options]
    # a command with a judge: its options are told from the metric's by their prefix
    if "judge_option" in names:
        options = arguments.options
        arguments.options = []
        arguments.judge_option = list(judge_options)
        for option in options:
            if option.startswith(JUDGE_PREFIX):
                arguments.judge_option.append(option.removeprefix(JUDGE_PREFIX))
            else:
                arguments.options.append(option)
    return arguments


def values_last(command_line: Sequence[str]) -> list[str]:
    """Returns the command line with the values of --set and --columns last.

    argparse gives an option of several values every word up to the next option, so `train --set
    seed=1 RECIPE` would lack its recipe.
    """
    # what stands behind `--` is to stay there
    if "--" in command_line:
        return list(command_line)
    first: list[str] = []
    last: list[str] = []
    takes_values = False
    previous = ""
    for word in command_line:
        if word in TAKING_SEVERAL:
            takes_values = True
        elif word.startswith("-"):
            takes_values = False
        elif previous not in TAKING_SEVERAL and "=" not in word:
            # the first word after the option is a value whatever it is, the next ones need a =
            takes_values = False
        if takes_values:
            last.append(word)
        else:
            first.append(word)
        previous = word
    return [*first, *last]


def overrides_of(arguments: argparse.Namespace) -> Sequence[str]:
    """Returns a recipe's overrides, the last of which counts: those of --set, and `--output PATH`
    as `output=PATH`.

    Raises RecipeError for a flag whose key is there too, with another value.
    """
    overrides = []
    for flag, key in RECIPE_KEYS_OF_FLAGS.items():
        value = vars(arguments).get(flag)
        # the flag was not used, or the command has none
        if value is None or value is False:
            continue
        # JSON is YAML too, and quotes a path with a colon
        override = f"{key}={json.dumps(value, default=str)}"
        same_key = [text for text in arguments.options if text.startswith(f"{key}=")]
        check_once([override, *same_key])
        overrides.append(override)
    return [*arguments.options, *overrides]


def check_once(texts: Sequence[str]) -> Sequence[str]:
    """Returns these texts of the form key=value. Raises RecipeError for a key with two values."""
    # of a key that is there twice, `dict` holds the last value
    last = dict(map(key_and_value, texts))
    for key, value in map(key_and_value, texts):
        if last[key] != value:
            raise RecipeError(f"{key} is given twice, {value} and {last[key]}: give it once.")
    return texts


def key_and_value(text: str) -> tuple[str, str]:
    """Returns both sides of the first =; the value is "" without one."""
    key, _, value = text.partition("=")
    return key, value


def check_files(
    arguments: argparse.Namespace,
    outputs: Sequence[Path],
    inputs: Iterable[str | Path | None],
    **like: Any,
) -> None:
    """Raises ValueError for an output or --json that must not be written
    (rewards/files/outputs.py). Files in names such as FILE.py:NAME and in options such as
    prompts=FILE are inputs too. like: of `check_json`.
    """
    options = [*arguments.judge_option, *arguments.options]
    read = []
    for word in (*inputs, arguments.judge, *options):
        if not word:
            continue
        text = str(word)
        before_colon, _, _ = text.rpartition(":")
        _, _, after_equals = text.partition("=")
        for path in (text, before_colon, after_equals):
            if path:
                read.append(Path(path))
    # what decided an output stands beside it
    beside = [path.with_name(f"{path.name}.settings.json") for path in outputs]
    check_apart([*outputs, *beside, arguments.json], read)
    check_json(arguments.json, like, arguments.overwrite)


def check_lines(output: Path) -> None:
    """Raises ValueError for an output of JSON Lines that is a folder, or named as another table."""
    if output.is_dir():
        raise ValueError(f"the output {output} is a folder: name a file in it.")
    if output.suffix.lower() in OTHER_TABLES:
        raise ValueError(
            f"the output {output} would be JSON Lines: name it {output.with_suffix('.jsonl')}."
        )


def column_names(columns: Sequence[str]) -> dict[str, str]:
    """Returns {our name: the file's} of --columns. Raises ValueError for a text without =, and for
    a column that would be read both as the completion and as something else.
    """
    names = dict(map(key_and_value, check_once(columns)))
    completion_column = names.get("completion", "completion")
    for ours, theirs in names.items():
        if ours != "completion" and theirs == completion_column:
            raise ValueError(
                f"--columns {ours}={theirs} names the column of the completions: each would be "
                f"compared with itself. Name the one of the {ours}."
            )
    # one side is empty: "reference", "=caption"
    if not all(map(all, names.items())):
        raise ValueError(
            "--columns is written OURS=THEIRS, such as reference=caption, got "
            f"{', '.join(columns)}."
        )
    return names


def check_renamed(columns: Mapping[str, str], reward: "Reward") -> None:
    """Raises ValueError for a name of --columns that neither a row nor the metric has."""
    from spanreward.rewards.base.checks import check_known
    from spanreward.rewards.rows.columns import READ

    our_columns = [*READ, "completion", *reward.columns]
    for ours, theirs in columns.items():
        # the wrong way round: caption=reference
        if ours not in our_columns and theirs in our_columns:
            raise ValueError(
                f"--columns is written OURS=THEIRS, got {ours}={theirs}: write {theirs}={ours}."
            )
    check_known("column", columns, our_columns)


def judge_of(arguments: argparse.Namespace) -> Any:
    """Returns the judge of --judge and its options.

    Raises ValueError for unknown names and options.
    """
    from spanreward.rewards.judges import load_judge

    return load_judge(arguments.judge, arguments.cache, **read_options(arguments.judge_option))


def judge_alone(arguments: argparse.Namespace) -> Any:
    """Returns the judge of a command without a metric. Raises ValueError for a metric's options."""
    if arguments.options:
        raise ValueError(
            f"an option of the judge is written --set {JUDGE_PREFIX}KEY=VALUE, got "
            f"{' '.join(arguments.options)}."
        )
    return judge_of(arguments)


def check_asked(arguments: argparse.Namespace, rewards: Collection["Reward"]) -> None:
    """Raises ValueError for options of a judge, but for match, which costs nothing, where no metric
    asks one.
    """
    # what of the command line is about a judge
    flags = []
    if arguments.judge not in (None, "match"):
        flags.append("--judge")
    if arguments.judge_option:
        flags.append("--set judge.KEY")
    if arguments.cache is not None:
        flags.append("--cache")
    if flags and not any(reward.judges for reward in rewards):
        names = " and ".join(reward.__name__ for reward in rewards)
        raise ValueError(f"{names} asks no judge: leave out {' and '.join(flags)}.")


@contextmanager
def open_metric(
    name: str, arguments: argparse.Namespace
) -> Iterator[tuple["Reward", dict[str, Any]]]:
    """Yields the metric of this name with the judge of --judge, if one is given, and closes the
    judge at the end. Also yields what decides its verdicts: its name, judge, options, prompts and
    what parses its texts. Raises ValueError for unknown names, options and values, and for options
    that nothing reads.

    name: such as "posh", or FILE.py:NAME. arguments: those of `read_arguments`, of a command that
    has JUDGE_FLAGS.
    """
    from spanreward.rewards.judges import closing
    from spanreward.rewards.metric_names import check_metric

    check_metric(name)
    options = read_options(arguments.options)
    for key, value in options.items():
        # `--set output=PATH` is a key of a recipe alone
        if key in FLAGS:
            raise ValueError(f"{key} is no option of a metric: write --{key} {value}.")
    judge = judge_of(arguments) if arguments.judge else None

    from spanreward.rewards.metrics import build_reward  # slow: spaCy, and torch with it

    reward = build_reward(name, judge, options)
    check_asked(arguments, [reward])
    # an output that was written with other settings is not gone on with
    settings = {
        "reward": name,
        "judge": "" if judge is None else judge.name,
        "options": options,
        "prompts": reward.wording,
        "parsed_by": reward.reader(),
    }
    with closing([] if judge is None else [judge]):
        yield reward, settings


def read_options(texts: Sequence[str]) -> dict[str, Any]:
    """Returns options that are written key=value. Raises ValueError for one that is not."""
    return dict(map(read_option, check_once(texts)))


def read_option(text: str) -> tuple[str, Any]:
    """Returns the key and the YAML value of `key=value`; 2e9 is a number too. Raises ValueError."""
    key, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"an option is written key=value, got {text!r}.")
    try:
        return key, read_yaml(value, f"the value of {key}")
    except RecipeError:
        raise ValueError(
            f"the value of {text!r} cannot be read as YAML: put quotes around it."
        ) from None
