"""Train an encoder judge, which reads each text once: from captions that are changed on purpose, or
from a large judge.

spanreward judge train recipes/judges/people.yaml  # then: --judge encoder:outputs/judges/people
spanreward judge label rows.jsonl --judge vllm:MODEL --output labels.jsonl
"""

import argparse
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from rich.progress import track
from rich.table import Table

from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.files.outputs import check_json, resumed_lines
from spanreward.rewards.judges.judge import Failure, Judge, OuterJudge, Question, Rating
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.rows.fingerprint import sample_fingerprint
from spanreward.training.commands import metric_options
from spanreward.training.commands.main import run_subcommand

CHUNK_PAIRS = 16  # rows that are judged together

TRAIN_DESCRIPTION = """\
    # copy a recipe and train by it
    spanreward recipes recipes/judges/people.yaml
    spanreward judge train recipes/judges/people.yaml
    # with what a large judge said (`spanreward judge label`)
    spanreward judge train RECIPE --set output=outputs/judges/mine 'teacher=[labels.jsonl]'
    # after an interruption, with the same recipe and options
    spanreward judge train RECIPE --set output=outputs/judges/mine --resume

The judge is then `--judge encoder:outputs/judges/mine`. Nothing is downloaded, unless `base` is a
hub id (HF_HUB_OFFLINE=1: never)."""
LABELS_DESCRIPTION = """\
    spanreward judge label rows.jsonl --judge vllm:MODEL --output labels.jsonl

The rows are as for `spanreward score posh`. The same command goes on after an interruption;
--overwrite starts anew."""
# The keys of a line in the output, with the types of their values.
LABEL_KEYS = {"picture": str, "text": str, "target": str, "places": list, "probabilities": dict}
DONE_KEY = "rows"  # the key of a chunk's last line: the fingerprints of its rows with a verdict


class RatingRecorder(OuterJudge):
    """A judge that asks another judge, and records its ratings of phrases.

    Args:
        judge: answers the questions.
        pictures: a name for each reference's picture, by the text of the reference.

    Attributes:
        recorded: a line for each rating, with the keys of LABEL_KEYS.
    """

    def __init__(self, judge: Judge, pictures: dict[str, str]) -> None:
        super().__init__(judge)
        self.pictures = pictures
        self.recorded: list[dict[str, Any]] = []
        self.reads_source = True  # probes then have `source` and `places`

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        """Returns the judge's ratings, and records each rating of a phrase."""
        answers = self.judge.rate(questions, scale)
        for question, answer in zip(questions, answers, strict=True):
            probe = question.probe
            if not isinstance(answer, Rating) or not probe.places:
                continue
            # Ratings of denied things are not kept: a high rating means that the thing is there,
            # and so that the words are wrong.
            if probe.kind == "denied":
                continue
            # For precision the judged text (`probe.text`) is a reference. For recall the source is
            # a reference.
            picture = self.pictures.get(probe.text)
            if not picture:
                picture = self.pictures.get(probe.source, probe.source)
            line = {
                "picture": picture,
                "text": probe.source,
                "target": probe.text,
                "places": probe.places,
                "probabilities": dict(answer.probabilities),
            }
            self.recorded.append(line)
        return answers

    def write_each(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        return self.judge.write(questions, max_tokens)


def add_train(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `spanreward judge train`."""
    parser.add_argument("recipe", help="a YAML file, such as recipes/judges/people.yaml")
    parser.add_argument(
        "--resume", action="store_true", help="go on from the last checkpoint in the output folder"
    )
    keys = {"options": {"help": "keys of the recipe, such as seed=1 or output=outputs/judges/mine"}}
    of_run = metric_options.OF_RUN | keys
    metric_options.add_flags(parser, "output", "overwrite", "options", **of_run)
    metric_options.add_words(parser)


def train_command(arguments: argparse.Namespace) -> tuple[Any, list[Any]]:
    """Trains a judge by the recipe. Returns the figures for --json, and the table to print."""
    from spanreward.training.experimental.judge_training.data import load_judge_recipe

    overrides = metric_options.overrides_of(arguments)
    # The recipe is read before the slow imports, so that a typo is reported at once.
    recipe = load_judge_recipe(arguments.recipe, overrides)
    check_json(arguments.json, {"temperature": None, "recipe": None}, recipe.overwrite)
    from spanreward.training.experimental.judge_training.fit import train_judge

    figures = train_judge(recipe, arguments.resume)
    table = Table("measure", "value", title=f"encoder:{recipe.output}, on held-out pictures")
    for name in ("loss", "auc", "temperature"):
        table.add_row(name, f"{figures[name]:.4g}")
    return figures, [table]


def add_label(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `spanreward judge label`."""
    parser.add_argument(
        "rows",
        metavar="ROWS",
        help="completions with their references: a file, or hub:NAME[:SPLIT]",
    )
    output = {"required": True, "metavar": "LABELS.jsonl", "help": "a question a line"}
    flags = (*metric_options.JUDGE_FLAGS, *metric_options.ROW_FLAGS, "output", "overwrite")
    metric_options.add_flags(parser, *flags, judge={"required": True}, output=output)
    metric_options.add_words(parser)


def label_rows(arguments: argparse.Namespace) -> tuple[Any, list[Any]]:
    """Lets the judge rate all rows, and keeps its answers. Returns the numbers for --json, and the
    table to print.

    Raises ValueError for files or rows that cannot be used.
    """
    from spanreward.rewards.posh import PoshReward

    metric_options.check_files(
        arguments, [arguments.output], [arguments.rows], **{"rows without a verdict": None}
    )
    metric_options.check_lines(arguments.output)
    samples, pictures = _samples_and_pictures(arguments)
    with (
        metric_options.open_metric("posh", arguments) as (posh, settings),
        resumed_lines(arguments.output, settings, LABEL_KEYS, arguments.overwrite) as (file, lines),
    ):
        done, earlier_lines = _earlier_work(lines)
        waiting = [row for row in samples if row not in done]  # fingerprints
        failed = 0
        (judge,) = posh.judges
        recorder = RatingRecorder(judge, pictures)
        reward = PoshReward(recorder, **settings["options"])
        with judge:
            for start in track(range(0, len(waiting), CHUNK_PAIRS), "labelling"):
                chunk = waiting[start : start + CHUNK_PAIRS]
                judged = _rows_with_verdict(reward, samples, chunk)
                failed += len(chunk) - len(judged)
                for line in lines_to_write(recorder.recorded, earlier_lines, judged):
                    file.write(json.dumps(line) + "\n")
                file.flush()
                recorder.recorded.clear()
    numbers = {
        "rows": len(samples),
        "kept": len(samples) - len(waiting),
        "rows without a verdict": failed,
    }
    table = Table(*numbers, title=str(arguments.output))
    table.add_row(*map(str, numbers.values()))
    return numbers, [table]


def _samples_and_pictures(
    arguments: argparse.Namespace,
) -> tuple[dict[str, Sample], dict[str, str]]:
    """Returns the rows of the input by their fingerprints, so that equal rows are judged once, and
    a name for each reference's picture, by the text of the reference.

    The first reference of a row names the row's picture: with the references "A cat." and "A pet.",
    the names are {"A cat.": "A cat.", "A pet.": "A cat."}.

    Raises ValueError for a row without a completion or a reference.
    """
    from spanreward.rewards.rows.lines import read_rows

    samples: dict[str, Sample] = {}
    pictures: dict[str, str] = {}
    columns = metric_options.column_names(arguments.columns)
    for input_row in read_rows(arguments.rows, columns, arguments.limit):
        sample = input_row.sample
        if isinstance(sample, str) or not sample.references:
            raise ValueError(
                f"line {input_row.number} of {arguments.rows} has no completion with a reference."
            )
        samples[sample_fingerprint(sample)] = sample
        for reference in sample.references:
            pictures[reference] = sample.references[0]
    return samples, pictures


def _earlier_work(lines: Iterable[Mapping[str, Any]]) -> tuple[set[str], set[str]]:
    """Returns what an earlier run has written to the output: the fingerprints of the rows that are
    done, and the lines, as JSON without DONE_KEY.

    If the run was interrupted within a chunk, the chunk's lines are there, but its rows are not
    done.
    """
    done: set[str] = set()
    earlier_lines = set()
    for line in lines:
        done.update(line.get(DONE_KEY, ()))
        earlier_lines.add(json.dumps({key: line[key] for key in LABEL_KEYS}))
    return done, earlier_lines


def _rows_with_verdict(
    reward: Reward, samples: Mapping[str, Sample], chunk: Sequence[str]
) -> list[str]:
    """Judges the rows of a chunk, and returns those with a score. A row on which the judge failed
    is asked again by the next run.

    samples: all rows, by fingerprint. chunk: the fingerprints of the rows to judge.
    """
    verdicts = reward.assess([samples[row] for row in chunk])
    judged = []
    for row, verdict in zip(chunk, verdicts, strict=True):
        if verdict.score is not None:
            judged.append(row)
    return judged


def lines_to_write(
    recorded: Sequence[dict[str, Any]], earlier_lines: Collection[str], judged: list[str]
) -> list[dict[str, Any]]:
    """Returns the lines of a chunk that the output lacks. The last line gets the rows that are
    done, under the key DONE_KEY.

    Args:
        recorded: the lines of all ratings of the chunk.
        earlier_lines: the lines of an earlier run, as JSON.
        judged: the fingerprints of the chunk's rows with a verdict.
    """
    new_lines = []
    for line in recorded:
        if json.dumps(line) not in earlier_lines:
            new_lines.append(line)
    if not new_lines:  # an earlier run kept all lines; the last is repeated, with DONE_KEY
        new_lines = list(recorded[-1:])
    if new_lines:
        new_lines[-1] = {**new_lines[-1], DONE_KEY: judged}
    return new_lines


def ways() -> dict[str, Any]:
    """Returns the subcommands by name, as `run_subcommand` takes them."""
    training = {
        "HELP": "train a judge as a recipe says",
        "DESCRIPTION": TRAIN_DESCRIPTION,
        "add_arguments": add_train,
    }
    keeping = {
        "HELP": "keep a judge's answers, to train from",
        "DESCRIPTION": LABELS_DESCRIPTION,
        "add_arguments": add_label,
    }
    return {
        "train": SimpleNamespace(**training, measure=train_command),
        "label": SimpleNamespace(**keeping, measure=label_rows),
    }


def main() -> None:
    run_subcommand("spanreward judge", __doc__, ways())
