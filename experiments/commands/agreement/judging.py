"""`agreement judge`: a judge's scores, pairs and rankings against people's (MLLM-as-a-Judge,
section 3).
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rich.table import Table

from spanreward.training.commands.metric_options import (
    JUDGE_FLAGS,
    OF_JUDGE,
    add_flags,
    judge_alone,
)

HELP = "a judge's scores, pairs and rankings against people's"
DESCRIPTION = """Reads a folder laid out as MLLM-as-a-Judge (score.jsonl, pair.jsonl, batch.jsonl) or VL-RewardBench
(preferences.jsonl) and asks the judge as PairwiseReward does: pairs in both orders, rankings from both ends. Beside it
stand two that read nothing, always the first and always the longer. `w/o ties` is over the pairs that neither people
nor the judge call a tie. Figures are of both orders, which decide together, and of the file's order alone (`1 order`);
the row `mean of sets` counts every set the same: both as in the paper's table 2. `longer` is the share of decided pairs
that went to the longer text, and people's. `consistent` and `majority` are six draws from the distribution at the
deciding token, seed 0: the mean share of the most frequent answer, and how often it is more than half. `recall` and
`F1` are means over win, tie and loss; `deviation` is the mean absolute deviation of one request's ratings. `error` is
the mean absolute difference from people's; `calibrated` is of ratings that isotonic regression, fitted to other
requests (five folds, seed 0), has mapped onto people's. Intervals draw requests. Of authors and mistakes the tables
have the most frequent ones, the file all."""
MOST = 8  # authors, or mistakes, of a table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, help="laid out as MLLM-as-a-Judge or VL-RewardBench")
    default = "experiments/scenes/word_judge.py:WordJudge"
    add_flags(
        parser,
        *JUDGE_FLAGS,
        judge={"default": default, "help": "who is measured (default: words alone)"},
        options={"help": OF_JUDGE},
    )
    parser.add_argument(
        "--prompts",
        metavar="PATH",
        help="a file like rewards/pairwise/prompts.yaml (default: ours)",
    )
    parser.add_argument(
        "--analyse", action="store_true", help="have the judge write an analysis before it decides"
    )
    parser.add_argument(
        "--request-as-context",
        action="store_true",
        help="where a picture is missing, judge by the words of the request (default: the judge is "
        "told that it does not see the picture)",
    )
    parser.add_argument(
        "--votes", type=Path, metavar="PATH", help="write every answer there, a JSON object a line"
    )


@dataclass(frozen=True, slots=True)
class Answered:
    """What one judge said of a set."""

    name: str
    pairs: Sequence[Any]
    ratings: Sequence[Any]
    rankings: Sequence[Any]


def measure(arguments: argparse.Namespace) -> tuple[Any, list[Table]]:
    """The numbers for --json, and the tables."""
    from experiments.agreement.judging import REPETITIONS, SEED
    from experiments.agreement.judging_sets import read_judging
    from experiments.agreement.stand_in_judges import FirstJudge, LongerJudge
    from spanreward.rewards.judges import closing

    found = read_judging(arguments.folder)
    if arguments.request_as_context:
        found = by_request(found)
    judge = judge_alone(arguments)
    check_pictures(judge, found)
    with closing([judge]), judge:
        answered = [answers_of(arguments.judge, judge, found, arguments.analyse, arguments.prompts)]
    answered += [
        answers_of(stand_in.name, stand_in, found) for stand_in in (FirstJudge(), LongerJudge())
    ]
    if arguments.votes:
        arguments.votes.parent.mkdir(parents=True, exist_ok=True)
        lines = (json.dumps(line) + "\n" for one in answered for line in votes_of(one, found))
        arguments.votes.write_text("".join(lines), encoding="utf-8")
    judges = {one.name: numbers_of(one, found) for one in answered}
    prompts = arguments.prompts or "ours"
    numbers = {"repetitions": REPETITIONS, "seed": SEED, "prompts": prompts, "judges": judges}
    numbers["unscored"] = unscored(answered[0])
    return numbers, [table for table in tables(judges) if table.row_count]


def check_pictures(judge: Any, found: Any) -> None:
    """Raises ValueError for a set with pictures and a judge that is known to read text only."""
    from spanreward.rewards.judges.judge import UNSEEING_MESSAGE

    judged = (*found.scores, *found.pairs, *found.rankings)
    if any(one.shown.images for one in judged) and judge.reads_text_only():
        raise ValueError(f"{UNSEEING_MESSAGE.format(judge=judge)}.")


def by_request(found: Any) -> Any:
    """The set with the request's words as the context of what has neither a picture nor a
    context.
    """

    def known(judged: Any) -> Any:
        shown = judged.shown
        if shown.images or shown.context:
            return judged
        return replace(judged, shown=replace(shown, context=shown.request))

    return replace(
        found,
        scores=[known(text) for text in found.scores],
        pairs=[known(pair) for pair in found.pairs],
        rankings=[known(group) for group in found.rankings],
    )


def answers_of(
    name: str, judge: Any, found: Any, analyse: bool = False, prompts: str | None = None
) -> Answered:
    from experiments.agreement.judging import judge_pairs, judge_rankings, judge_scores

    return Answered(
        name,
        judge_pairs(judge, found.pairs, analyse, prompts),
        judge_scores(judge, found.scores, analyse, prompts),
        judge_rankings(judge, found.rankings, analyse, prompts),
    )


def unscored(one: Answered) -> list[str]:
    """Returns a sentence on the judge's failures, with the first reason; none without any."""
    from spanreward.rewards.judges.judge import Failure

    answers = [votes.failure for votes in one.pairs]
    answers += one.ratings
    for both in one.rankings:
        answers += both
    failures = [answer for answer in answers if isinstance(answer, Failure)]
    if not failures:
        return []
    first = f"{failures[0].status}: {failures[0].message.rstrip('.')}"
    return [f"{one.name} failed {len(failures)} times, the first is {first}."]


def numbers_of(one: Answered, found: Any) -> dict[str, list[dict[str, Any]]]:
    from experiments.agreement.judging import measure_pairs, measure_rankings, measure_scores
    from experiments.agreement.judging_biases import by_author, by_author_of_scores, by_error

    rows: dict[str, list[Any]] = {
        "pairs": measure_pairs(found.pairs, one.pairs),
        "scores": measure_scores(found.scores, one.ratings),
        "rankings": measure_rankings(found.rankings, one.rankings),
        "authors": by_author(found.pairs, one.pairs),
        "authors_of_scores": by_author_of_scores(found.scores, one.ratings),
        "errors": by_error(found.pairs, one.pairs),
    }
    return {name: [asdict(row) for row in entries] for name, entries in rows.items()}


def votes_of(one: Answered, found: Any) -> Iterator[dict[str, Any]]:
    """Every answer with what it was about and the order in which texts were shown, by their places.
    Draws are of the answers whose consistency is measured, pairs in the file's order and scores.
    """
    from experiments.agreement.judging import SEED, drawn
    from spanreward.rewards.judges.judge import Failure

    def said(answer: Any) -> dict[str, Any]:
        if isinstance(answer, Failure):
            return {"failed": answer.status.value, "message": answer.message}
        if isinstance(answer, list):
            return {"ranking": answer}
        return {"probabilities": dict(answer.probabilities), "mass": answer.mass}

    draws = drawn([votes.one for votes in one.pairs])
    for pair, votes, repeated in zip(found.pairs, one.pairs, draws, strict=True):
        about = {
            "judge": one.name,
            "kind": "pair",
            "id": pair.id,
            "authors": pair.authors,
            "people": pair.people,
        }
        answers = zip(votes.choices, (votes.one, votes.two), strict=True)
        first, second = ({"choice": choice, **said(answer)} for choice, answer in answers)
        yield {**about, "order": [0, 1], **first, "seed": SEED, "draws": repeated}
        yield {**about, "order": [1, 0], **second}
    for text, rating, repeated in zip(found.scores, one.ratings, drawn(one.ratings), strict=True):
        about = {
            "judge": one.name,
            "kind": "score",
            "id": text.id,
            "authors": text.authors,
            "people": text.people,
        }
        yield {**about, "order": [0], **said(rating), "seed": SEED, "draws": repeated}
    for group, rankings in zip(found.rankings, one.rankings, strict=True):
        about = {
            "judge": one.name,
            "kind": "ranking",
            "id": group.id,
            "authors": group.authors,
            "people": group.people,
        }
        places = list(range(len(group.texts)))
        for ranking, order in zip(rankings, (places, places[::-1]), strict=True):
            yield {**about, "order": order, **said(ranking)}


# Per table: its rows' key, its title, and the columns, each a heading and the key of a share or
# number.
TABLES: tuple[tuple[str, str, dict[str, str]], ...] = (
    (
        "pairs",
        "Pairs, both orders together",
        {
            "w. ties": "with_ties",
            "95 %": "interval",
            "w/o ties": "without_ties",
            "right": "right",
            "decided": "decided",
            "recall": "recall",
            "F1": "f1",
            "orders agree": "orders_agree",
            "first slot": "first_slot",
            "longer": "longer",
            "people": "longer_people",
            "consistent": "average",
            "majority": "majority",
        },
    ),
    (
        "pairs",
        "Pairs, the file's order alone, as in the paper",
        {"w. ties": "one_order", "w/o ties": "one_order_without_ties"},
    ),
    (
        "scores",
        "Scores",
        {
            "Pearson": "pearson",
            "95 %": "interval",
            "mean": "mean",
            "people": "mean_people",
            "with length": "length",
            "people's": "length_people",
            "deviation": "deviation",
            "of people": "deviation_people",
            "consistent": "average",
            "majority": "majority",
            "error": "error",
            "calibrated": "error_calibrated",
            "Pearson, calibrated": "pearson_calibrated",
        },
    ),
    (
        "rankings",
        "Rankings, from both ends",
        {
            "distance": "distance",
            "95 %": "interval",
            "1 order": "one_order",
            "orders agree": "orders_agree",
            "as shown": "as_shown",
        },
    ),
    (
        "authors",
        "Pairs won by author, ties half",
        {"judge": "judge", "people": "people", "more": "more", "95 %": "interval"},
    ),
    (
        "authors_of_scores",
        "Mean rating by author",
        {"judge": "judge", "people": "people", "more": "more", "95 %": "interval"},
    ),
    (
        "errors",
        "Pairs whose worse text has a mistake, by its label",
        {
            "right": "right",
            "undecided": "undecided",
            "worse preferred": "preferred",
            "95 %": "interval",
        },
    ),
)
NAMES = {"authors": "author", "authors_of_scores": "author", "errors": "error"}


def tables(judges: dict[str, dict[str, list[dict[str, Any]]]]) -> Iterator[Table]:
    for kind, title, columns in TABLES:
        named = NAMES.get(kind, "part")
        table = Table(title=title)
        for column in ("judge", named):
            table.add_column(column, overflow="fold")
        counted = {"n": "n"} if kind in NAMES else {"n": "n", "failed": "failed"}
        for heading in (*counted, *columns):
            table.add_column(heading, justify="right")
        for judge, rows in judges.items():
            often = (
                sorted(rows[kind], key=lambda row: -row["n"])[:MOST]
                if kind in NAMES
                else rows[kind]
            )
            for row in often:
                cells = [shown(row[key]) for key in (*counted.values(), *columns.values())]
                table.add_row(judge, row[named], *cells)
        yield table


def shown(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, dict):
        return f"{value['low']:.3f} - {value['high']:.3f}"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
