"""The flags that several commands share, with the same meaning in each command; and the metric and
judge that these flags choose.

    add_flags(parser, *ALL_FLAGS, judge={"required": True})
    arguments = read_arguments(parser)     # --set mode=published judge.memory=2e9
    with open_metric("posh", arguments) as (reward, settings):
        reward.judge_samples(samples)

Heavy modules are imported inside of functions, when a judge is made, so that `--help` is quick.
"""

import argparse
import json
import shlex
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spanreward.rewards.base.terminal import exit_with_message
from spanreward.rewards.files.outputs import check_apart, check_json
from spanreward.training.recipe_file import RecipeError, read_yaml

if TYPE_CHECKING:
    from spanreward.rewards.reward.reward import Reward

JUDGE_HELP = (
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
# {flag with several values: how each of its values is written}
VALUE_FORMS = {
    "--set": "an option is written --set KEY=VALUE",
    "--columns": "a column is written --columns OURS=THEIRS, such as reference=caption",
}
JUDGE_PREFIX = "judge."  # in --set, an option with this prefix is an option of the judge
REFUSED_FROM = "0.2"  # the version from which on options can be given only by --set


class Once(argparse.Action):
    """An argparse action that stores a value, and refuses a second, different value of the same
    flag. Without this action, the second value would silently replace the first.
    """

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: Any,
        value: Any,
        flag: str | None = None,
    ) -> None:
        earlier = vars(namespace)[self.dest]
        # a flag may be given twice with the same value
        if earlier not in (self.default, value):
            parser.error(f"{flag} is given twice, {earlier} and {value}: give one.")
        setattr(namespace, self.dest, value)


METRIC_FLAGS: dict[str, dict[str, Any]] = {
    "judge": {
        "action": Once,
        "metavar": "JUDGE",
        "help": f"who answers the metric's questions, and needed where it asks any: {JUDGE_HELP}",
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
OTHER_FLAG_NAMES = {"options": "--set"}  # flags with another name than their key in METRIC_FLAGS
SHORT_FLAGS = {"output": "o", "quiet": "q"}  # the short forms of flags
JUDGE_FLAGS = ("judge", "options", "cache")
ROW_FLAGS = ("columns", "limit")
ALL_FLAGS = (*JUDGE_FLAGS, *ROW_FLAGS, "output", "overwrite", "json")
# the recipe key that each of these flags sets, in a command that runs a recipe
RECIPE_KEYS_OF_FLAGS = {"output": "output", "overwrite": "overwrite", "limit": "data.count"}
# for `add_flags`: the help texts of flags in a command that runs a recipe
OF_RUN = {
    "output": {"help": "the same as --set output=PATH"},
    "overwrite": {"help": "the same as --set overwrite=true"},
    "limit": {"help": "the same as --set data.count=N"},
    "options": {"help": OF_RECIPE},
}


def add_flags(parser: argparse.ArgumentParser, *names: str, **changes: dict[str, Any]) -> None:
    """Adds flags to a command's parser. names: keys of METRIC_FLAGS. changes: by a key of
    METRIC_FLAGS, arguments of `add_argument` that differ for this command, such as
    output={"required": True}.
    """
    for name in names:
        flags = [OTHER_FLAG_NAMES.get(name, f"--{name}")]
        if name in SHORT_FLAGS:
            flags.append(f"-{SHORT_FLAGS[name]}")
        settings = METRIC_FLAGS[name] | changes.get(name, {})
        parser.add_argument(*flags, dest=name, **settings)
    if "judge" in names:
        # the old flag for options of the judge, accepted before version REFUSED_FROM
        hidden = argparse.SUPPRESS
        parser.add_argument("--judge-option", action="append", default=[], help=hidden)


def add_words(parser: argparse.ArgumentParser) -> None:
    """Adds words key=value without --set to a command's parser, after its other arguments. This old
    form of options is accepted before version REFUSED_FROM.
    """
    parser.add_argument("words", nargs="*", default=[], help=argparse.SUPPRESS)


def read_arguments(
    parser: argparse.ArgumentParser, command_line: Sequence[str] | None = None
) -> argparse.Namespace:
    """Returns the parsed arguments of the command line.

    The attribute `options` holds the texts key=value of --set. For a command with a judge,
    `judge_option` holds the options of the judge, without the prefix "judge.", and `options` holds
    the other options. Options in the old forms are added, and a line on standard error shows the
    new form. A word that is neither an option nor another argument ends the process with a message.
    command_line: the words of this process by default.
    """
    if command_line is None:
        command_line = sys.argv[1:]
    arguments = parser.parse_intermixed_args(values_last(command_line))
    refuse_stray_words(parser.prog, arguments, command_line)
    # options in the old forms, if the command accepts these
    values = vars(arguments)
    words: list[str] = arguments.words if "words" in values else []
    judge_options: list[str] = arguments.judge_option if "judge_option" in values else []
    new_form = [*words, *(JUDGE_PREFIX + option for option in judge_options)]
    if new_form:
        print(
            f"{parser.prog}: write --set {shlex.join(new_form)}: options written otherwise are "
            f"refused from {REFUSED_FROM} on.",
            file=sys.stderr,
        )
    if "options" in values:
        arguments.options = [*words, *arguments.options]
    if "judge_option" in values:
        of_judge, of_metric = split_by_prefix(arguments.options)
        arguments.judge_option = [*judge_options, *of_judge]
        arguments.options = of_metric
    return arguments


def split_by_prefix(options: Sequence[str]) -> tuple[list[str], list[str]]:
    """Returns (options of the judge without their prefix, other options): ["mode=published",
    "judge.memory=2e9"] gives (["memory=2e9"], ["mode=published"]).
    """
    of_judge = []
    others = []
    for option in options:
        if option.startswith(JUDGE_PREFIX):
            of_judge.append(option.removeprefix(JUDGE_PREFIX))
        else:
            others.append(option)
    return of_judge, others


def values_last(command_line: Sequence[str]) -> list[str]:
    """Returns the command line with --set, --columns and their values at the end.

    For a flag with several values, argparse takes every word up to the next flag as a value. In
    `train --set seed=1 RECIPE`, RECIPE would become a value of --set, and the recipe would be
    missing. So the result is `train RECIPE --set seed=1`.
    """
    # the words behind `--` must stay behind `--`
    if "--" in command_line:
        return list(command_line)
    other_words: list[str] = []
    flags_with_values: list[str] = []
    # whether the word is --set or --columns, or one of their values
    is_value = False
    previous = ""
    for word in command_line:
        if word in VALUE_FORMS:
            is_value = True
        else:
            is_other_flag = word.startswith("-")
            # the first word after --set is a value in any case; a later value has a "="
            has_form_of_value = "=" in word or previous in VALUE_FORMS
            if is_other_flag or not has_form_of_value:
                is_value = False
        if is_value:
            flags_with_values.append(word)
        else:
            other_words.append(word)
        previous = word
    return [*other_words, *flags_with_values]


def refuse_stray_words(
    program: str, arguments: argparse.Namespace, command_line: Sequence[str]
) -> None:
    """Ends the process with a message if a word without "=" belongs to no argument of the command.

    Example: in `--columns id=name reference`, the word "reference" was meant as a second column of
    --columns, so the message says how a column is written.

    Such words are among the models of `spanreward compare`, which are written NAME=FOLDER, or among
    the `words` of another command (`add_words`). program: the beginning of the message.
    """
    values = vars(arguments)
    has_models = "models" in values
    loose_words = values["models"] if has_models else values.get("words", [])
    for word in loose_words:
        if "=" in word:
            continue
        flag = flag_in_front(word, command_line)
        if flag:
            exit_with_message(f'{program}: {word!r} behind {flag} has no "=": {VALUE_FORMS[flag]}.')
        # the word may be a model whose user forgot the name: `read_sides` has a message for it
        if has_models:
            continue
        exit_with_message(
            f"{program}: {word!r} is one word too many: leave it out, or if it is meant as an "
            f"option, {VALUE_FORMS['--set']}."
        )


def flag_in_front(word: str, command_line: Sequence[str]) -> str:
    """Returns the flag among whose values a word stands: --set or --columns, if only values of the
    flag are between the flag and the word. Returns "" if there is no such flag.

    Example: in `--columns id=name reference --limit 9`, the word "reference" gives "--columns", and
    "9" gives "".
    """
    in_front: Sequence[str] = []  # the words in front of the word; of its last place if it repeats
    for place, other in enumerate(command_line):
        if other == word:
            in_front = command_line[:place]
    # go back from the word over values such as id=name, up to the flag
    for previous in reversed(in_front):
        if previous in VALUE_FORMS:
            return previous
        is_value = "=" in previous and not previous.startswith("-")
        if not is_value:
            return ""
    return ""


def overrides_of(arguments: argparse.Namespace) -> Sequence[str]:
    """Returns the overrides of a recipe: the texts of --set, and then the flags as texts, such as
    `output=PATH` for `--output PATH`.

    Raises RecipeError if --set has the key of a flag with another value.
    """
    overrides = []
    for flag, key in RECIPE_KEYS_OF_FLAGS.items():
        value = vars(arguments).get(flag)
        # skip a flag that was not given, or that the command does not have
        if value is None or value is False:
            continue
        # JSON is YAML too, and has quotes around a path, which may contain a colon
        override = f"{key}={json.dumps(value, default=str)}"
        same_key = [text for text in arguments.options if text.startswith(f"{key}=")]
        check_once([override, *same_key])
        overrides.append(override)
    return [*arguments.options, *overrides]


def check_once(texts: Sequence[str]) -> Sequence[str]:
    """Returns the given texts key=value unchanged. Raises RecipeError for a key with two different
    values.
    """
    pairs = [key_and_value(text) for text in texts]
    last_values = dict(pairs)  # for a repeated key, `dict` keeps the last value
    for key, value in pairs:
        last = last_values[key]
        if last != value:
            raise RecipeError(f"{key} is given twice, {value} and {last}: give it once.")
    return texts


def key_and_value(text: str) -> tuple[str, str]:
    """Returns the texts before and behind the first "=": "a=b=c" gives ("a", "b=c"). Without a "=",
    the value is "".
    """
    key, _, value = text.partition("=")
    return key, value


def check_files(
    arguments: argparse.Namespace,
    outputs: Sequence[Path],
    inputs: Iterable[str | Path | None],
    **like: Any,
) -> None:
    """Raises ValueError if an output, or the file of --json, must not be written: the file is an
    input or another output, or --json names a file of another command (rewards/files/outputs.py).

    outputs: the command's output files. inputs: the command's input files. Files in names such as
    FILE.py:NAME, and in options such as prompts=FILE, count as inputs too. like: {key: value} that
    an existing file of --json must hold to be replaced, see `check_json`; None for any value.
    """
    options = [*arguments.judge_option, *arguments.options]
    input_paths = []
    for word in (*inputs, arguments.judge, *options):
        if word:
            input_paths += paths_in(str(word))
    # Next to an output, the command writes a second file with the settings of the output. Its path
    # is not made by `with_name`, which raises for the folder ".".
    settings_files = [path.parent / f"{path.name}.settings.json" for path in outputs]
    check_apart([*outputs, *settings_files, arguments.json], input_paths)
    check_json(arguments.json, like, arguments.overwrite)


def paths_in(word: str) -> list[Path]:
    """Returns the paths that a word of a command line may name: the whole word, FILE.py of
    FILE.py:NAME, and FILE of prompts=FILE.
    """
    before_colon, _, _ = word.rpartition(":")
    _, _, after_equals = word.partition("=")
    return [Path(text) for text in (word, before_colon, after_equals) if text]


def check_lines(output: Path) -> None:
    """Raises ValueError for an output of JSON Lines that is a folder. Also raises ValueError for an
    output with the ending of another kind of table, such as ".csv".
    """
    if output.is_dir():
        raise ValueError(f"the output {output} is a folder: name a file in it.")
    if output.suffix.lower() in OTHER_TABLES:
        raise ValueError(
            f"the output {output} would be JSON Lines: name it {output.with_suffix('.jsonl')}."
        )


def column_names(columns: Sequence[str]) -> dict[str, str]:
    """Returns {our name of a column: the file's name} from --columns: ["reference=caption"] gives
    {"reference": "caption"}.

    Raises ValueError for a text without "=", and for one of our names with two names of the file.
    Also raises ValueError for a text such as "reference=completion": each completion would be
    compared with itself.
    """
    names = dict(key_and_value(text) for text in check_once(columns))
    # the file's name of the column of the completions
    completion_column = names.get("completion", "completion")
    for ours, theirs in names.items():
        if ours != "completion" and theirs == completion_column:
            raise ValueError(
                f"--columns {ours}={theirs} names the column of the completions: each would be "
                f"compared with itself. Name the one of the {ours}."
            )
    for ours, theirs in names.items():
        if not ours or not theirs:  # a text such as "reference" or "=caption"
            raise ValueError(
                "--columns is written OURS=THEIRS, such as reference=caption, got "
                f"{', '.join(columns)}."
            )
    return names


def check_renamed(columns: Mapping[str, str], reward: "Reward") -> None:
    """Raises ValueError for an unknown column in --columns: not a column of a Sample, and not a
    column of the metric. columns: {our name: the file's name}.
    """
    from spanreward.rewards.base.checks import check_known
    from spanreward.rewards.rows.columns import COLUMNS_READ

    our_columns = [*COLUMNS_READ, "completion", *reward.columns]
    for ours, theirs in columns.items():
        # the user has swapped the two sides: caption=reference
        if ours not in our_columns and theirs in our_columns:
            raise ValueError(
                f"--columns is written OURS=THEIRS, got {ours}={theirs}: write {theirs}={ours}."
            )
    check_known("column", columns, our_columns)


def judge_of(arguments: argparse.Namespace) -> Any:
    """Returns the judge that --judge names, with the options of --set judge.KEY=VALUE.

    Raises ValueError for an unknown name or option.
    """
    from spanreward.rewards.judges import load_judge

    return load_judge(arguments.judge, arguments.cache, **read_options(arguments.judge_option))


def judge_alone(arguments: argparse.Namespace) -> Any:
    """Returns the judge of a command that has no metric. Raises ValueError for options without the
    prefix "judge.", which are options of a metric.
    """
    if arguments.options:
        raise ValueError(
            f"an option of the judge is written --set {JUDGE_PREFIX}KEY=VALUE, got "
            f"{' '.join(arguments.options)}."
        )
    return judge_of(arguments)


def check_asked(arguments: argparse.Namespace, rewards: Collection["Reward"]) -> None:
    """Raises ValueError if the command line has flags for a judge and no metric asks a judge.
    `--judge match` is accepted in any case, because this judge needs no model.
    """
    # collect the flags for a judge
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
    """Yields (reward, settings): the metric with the judge of --judge, and everything that decides
    the metric's verdicts. The settings are the names of the metric and the judge, the options, the
    prompts and the parser. At the end of the `with`, the judge is closed.

    name: such as "posh", or FILE.py:NAME. arguments: the result of `read_arguments` in a command
    with JUDGE_FLAGS. Raises ValueError for unknown names, options and values, and for flags of a
    judge if the metric asks no judge.
    """
    from spanreward.rewards.judges import closing
    from spanreward.rewards.metric_names import check_metric

    check_metric(name)
    options = read_options(arguments.options)
    for key, value in options.items():
        # if the user wrote a flag as an option, `--set limit=9` in place of `--limit 9`
        if key in METRIC_FLAGS:
            raise ValueError(f"{key} is no option of a metric: write --{key} {value}.")
    judge = judge_of(arguments) if arguments.judge else None

    from spanreward.rewards.metrics import build_reward  # slow: spaCy, and torch with it

    reward = build_reward(name, judge, options)
    check_asked(arguments, [reward])
    # an output that was written with other settings cannot be resumed
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
    """Returns options from texts key=value: ["mode=published", "top=5"] gives {"mode": "published",
    "top": 5}. Raises ValueError for a text of another form.
    """
    return dict(read_option(text) for text in check_once(texts))


def read_option(text: str) -> tuple[str, Any]:
    """Returns the key and the YAML value of `key=value`: "memory=2e9" gives ("memory", 2e9). Raises
    ValueError for a text of another form.
    """
    key, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"an option is written key=value, got {text!r}.")
    try:
        return key, read_yaml(value, f"the value of {key}")
    except RecipeError:
        raise ValueError(
            f"the value of {text!r} cannot be read as YAML: put quotes around it."
        ) from None
