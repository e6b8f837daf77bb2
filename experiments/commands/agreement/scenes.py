"""`python -m experiments agreement scenes`: how right a judge is about descriptions of Scenes,
whose truth is known.
"""

import argparse
import time
from dataclasses import asdict
from typing import Any

from rich.table import Table

from spanreward.training.commands.metric_options import (
    JUDGE_FLAGS,
    OF_JUDGE,
    add_flags,
    judge_alone,
)

HELP = "how right judges are about descriptions of Scenes, whose truth is known"
DESCRIPTION = """Puts the questions of PoSh, LAVE and the pairwise metric about held-out Scenes to a judge. An oracle
knows the answers. The command says by kind how many it gets right (of those whose truth is yes, and no), how well its
probabilities are calibrated, and how many questions it answers a second. Half of the pictures are of level 1."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--count", type=int, default=100, help="pictures, some 35 questions each (default 100)"
    )
    parser.add_argument(
        "--levels", type=int, nargs="+", choices=(1, 2, 3), default=[1, 2], help="(default 1 2)"
    )
    parser.add_argument(
        "--split", choices=("train", "validation", "test"), default="test", help="(default test)"
    )
    add_flags(parser, *JUDGE_FLAGS, judge={"required": True}, options={"help": OF_JUDGE})


def measure(arguments: argparse.Namespace) -> tuple[Any, list[Table]]:
    import random

    from experiments.judging.conversations import judged_scenes
    from experiments.judging.lessons import lave_lessons, pair_lessons, posh_lessons
    from experiments.judging.measured import measured, put
    from spanreward.rewards.judges import closing

    if arguments.count < len(arguments.levels):
        raise ValueError(f"--count must be a picture a level at least, got {arguments.count}")
    settings = {"levels": arguments.levels, "count": arguments.count, "split": arguments.split}
    scenes = judged_scenes(**settings)
    generator = random.Random("held-out questions")
    lessons = [
        lesson
        for ask in (posh_lessons, lave_lessons, pair_lessons)
        for lesson in ask(scenes, generator)
    ]
    arguments.cache = bool(arguments.cache)  # remembered answers take no time, which is measured
    judge = judge_alone(arguments)
    with closing([judge]):
        judge.start()
        began = time.perf_counter()
        answers = put(judge, lessons)
        seconds = time.perf_counter() - began
    found = measured(lessons, answers)
    asked = max(judge.usage.questions - judge.usage.cached, 1)
    table = Table(
        "questions",
        "number",
        "right",
        "where yes",
        "where no",
        "calibration error",
        "no rating",
        title=arguments.judge,
    )
    for kind, row in found.items():
        shares = [
            "" if share is None else f"{share:.1%}"
            for share in (row.accuracy, row.of_yes, row.of_no)
        ]
        error = "" if row.calibration_error is None else f"{row.calibration_error:.3f}"
        table.add_row(kind, str(row.questions), *shares, error, str(row.failed))
    speed = {
        "questions": len(lessons),
        "questions_a_second": len(lessons) / seconds,
        "tokens_a_question": judge.usage.prompt_tokens / asked,
    }
    table.caption = (
        f"{speed['questions_a_second']:.0f} questions a second, "
        f"{speed['tokens_a_question']:.0f} tokens each"
    )
    numbers = {
        "judge": arguments.judge,
        **settings,
        **speed,
        "kinds": {kind: asdict(row) for kind, row in found.items()},
    }
    return numbers, [table]
