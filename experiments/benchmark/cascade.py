"""Whether the audit of a cascade sees that a policy farms the student, and how close a cascade is
to its teacher.

python -m experiments benchmark cascade --start outputs/quickstart/seed0/base --json cascade.json
"""

import argparse
import json
import math
import random
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Console
from rich.table import Table
from scipy.stats import spearmanr
from transformers import TrainerControl, TrainerState, TrainingArguments

from experiments.benchmark.search import pictures
from experiments.perturb import perturb
from experiments.scenes.cascade_judges import CalibratedStudent, GullibleStudent, NoisyReferee
from experiments.scenes.language import describe
from experiments.scenes.referee import judge_description
from experiments.scenes.truth import scene_named
from experiments.scenes.world import Split
from spanreward.rewards import MatchJudge, PoshReward
from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.experimental.cascade_judge import CascadeJudge
from spanreward.rewards.judges import Judge, closing, load_judge
from spanreward.rewards.reward.reward import LogMetric
from spanreward.rewards.rows.sample import read_sample
from spanreward.training.callbacks.reward_health import RewardHealthCallback
from spanreward.training.recipe import load_recipe
from spanreward.training.run import build_trainer

DESCRIPTION = """DAPO on Scenes with PoSh, whose judge is a cascade. The teacher is the referee, which answers 5 % of
the questions wrongly, or the judge that --teacher names. farmed: the student is `match`, but believes everything that
has to do with a text in which the phrase stands. honest: the student is `match`. teacher: no cascade, the teacher
alone. Any other name is a judge as the student, such as encoder:FOLDER. Per run: the first step of each alarm, the
agreement in the audits, the truth F1 of the sampled texts, its best mean of ten steps, the step at which that mean is
.05 below its best, and the share of the texts with the phrase (A to B: means of the first and of the last ten steps).
Then, on held-out pictures, the teacher's share of the questions and Spearman's r of the verdicts with the teacher's, by
student and `sure`. --rows writes descriptions of training pictures for `spanreward judge label`, and measures
nothing."""
RECIPE = "recipes/quickstart/scenes-dapo.yaml"
PHRASE = "a star"  # which no reference has, and the terse base writes now and then
FALL = 0.05
SURE = (0.6, 0.8, 0.9, 0.99)
STUDENTS: dict[str, Callable[[], Judge]] = {
    "farmed": lambda: GullibleStudent(PHRASE),
    "honest": MatchJudge,
}
TEACHER = "teacher"
LOGGED = (
    "judge/audit_agreement",
    "judge/teacher_share",
    "health/audit_low",
    "health/audit_high",
    "health/truth",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--start", metavar="FOLDER", help="the policy that training starts from; without it, no run"
    )
    parser.add_argument(
        "--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4], help="(default 0 to 4)"
    )
    parser.add_argument(
        "--students",
        nargs="+",
        default=list(STUDENTS),
        metavar="NAME",
        help="(default farmed honest)",
    )
    parser.add_argument(
        "--teacher", metavar="JUDGE", help="such as transformers:FOLDER (default a noisy referee)"
    )
    parser.add_argument(
        "--sure", type=float, default=0.9, help="0: the student alone, with audits (default 0.9)"
    )
    parser.add_argument(
        "--environments",
        nargs="+",
        type=float,
        default=[0.0],
        metavar="SIZE",
        help="changes of the weights (default 0)",
    )
    parser.add_argument(
        "--rows", type=Path, metavar="PATH", help="write --pictures training pictures' rows there"
    )
    parser.add_argument("--steps", type=int, default=40, help="of a run (default 40)")
    parser.add_argument("--batch", type=int, default=64, help="completions per step (default 64)")
    parser.add_argument(
        "--audit", type=float, default=0.02, help="share of what is sure (default 0.02)"
    )
    parser.add_argument(
        "--pictures", type=int, default=100, help="for the second table, 0 for none (default 100)"
    )


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    if arguments.rows:
        samples = described(arguments.pictures, "train")
        lines = [
            {"completion": sample.completion, "reference": sample.references} for sample in samples
        ]
        arguments.rows.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        return {"rows": len(lines)}
    runs = []
    for name, size, seed in product(arguments.students, arguments.environments, arguments.seeds):
        if arguments.start:
            runs.append(
                {
                    "student": name,
                    "seed": seed,
                    "environment": size,
                    **run(name, seed, size, arguments),
                }
            )
    close = (
        closeness(arguments.pictures, arguments.students, arguments.teacher)
        if arguments.pictures
        else []
    )
    console = Console(stderr=True, width=max(Console().width, 120))
    if runs:
        heads = (
            "student",
            "seed",
            "alarm",
            "agreement",
            "teacher",
            "truth F1",
            "best",
            "falls",
            "phrase",
            "others",
        )
        table = Table(*heads)
        for one in runs:
            cells = [
                one["student"],
                f"{one['seed']}~{one['environment']:g}",
                str(one["alarms"].get("audit", "none")),
            ]
            cells += [between(one["steps"], key) for key in (*LOGGED[:2], "health/truth")]
            cells += [
                f"{one['best']:.2f}",
                str(one["falls"] or "no"),
                between(one["steps"], "phrase"),
            ]
            table.add_row(
                *cells, str({name: step for name, step in one["alarms"].items() if name != "audit"})
            )
        console.print(table)
    if close:
        table = Table("student", "sure", "teacher's share", "Spearman's r", "agreement in audits")
        for one in close:
            cells = [f"{one[key]:.3f}" for key in ("teacher_share", "correlation", "agreement")]
            table.add_row(one["student"], str(one["sure"]), *cells)
        console.print(table)
    return {"phrase": PHRASE, "runs": runs, "closeness": close}


class Watch(RewardHealthCallback):
    """Keeps the first step of each problem, and per step the share of completions with the
    phrase.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.alarms: dict[str, int] = {}
        self.phrase: list[float] = []

    def observe(self, log_metric: LogMetric | None) -> None:
        super().observe(log_metric)
        if log_metric is not None:
            log_metric("health/truth", fmean(map(truth, self.recorders[0].samples)))

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **named: Any
    ) -> None:
        for problem in self._new_problems:
            self.alarms.setdefault(problem, state.global_step)
        self.phrase.append(
            fmean(PHRASE in sample.completion.lower() for sample in self.recorders[0].samples)
        )
        super().on_step_end(args, state, control, **named)


def student_named(name: str) -> Judge:
    return STUDENTS[name]() if name in STUDENTS else load_judge(name)


def teacher_named(name: str | None) -> Judge:
    return load_judge(name) if name else NoisyReferee()


def run(
    student: str, seed: int, environment: float, arguments: argparse.Namespace
) -> dict[str, Any]:
    """One training. Returns the alarms and what each step logged. best: the best mean truth of ten
    steps; falls: the step at which this mean is FALL below its best.
    """
    judge = teacher_named(arguments.teacher)
    if student != TEACHER:
        judge = CascadeJudge(student_named(student), judge, arguments.sure, arguments.audit, seed)
    with closing([judge]), tempfile.TemporaryDirectory() as folder:
        changed = {
            "max_steps": arguments.steps,
            "per_device_train_batch_size": arguments.batch,
            "steps_per_generation": "null",
            "learning_rate": 3e-4,
            "warmup_steps": 5,
            "logging_steps": 1,
            "span_coef": 0.0,
        }
        overrides = [
            f"seed={seed}",
            f"output={folder}",
            f"policy.model={Path(arguments.start).resolve()}",
        ]
        recipe = load_recipe(
            RECIPE, overrides + [f"trainer.{key}={value}" for key, value in changed.items()]
        )
        trainer: Any = build_trainer(recipe, [PoshReward(judge)])
        perturb(trainer.model, environment)
        watch = Watch(trainer.recorders)
        trainer.add_callback(watch)
        trainer.train()
    logged = [line for line in trainer.state.log_history if "reward" in line]
    steps = [
        {**{key: line[key] for key in ("reward", *LOGGED) if key in line}, "phrase": phrase}
        for line, phrase in zip(logged, watch.phrase, strict=True)
    ]
    truths = [step["health/truth"] for step in steps]
    means = [fmean(truths[max(at - 10, 0) : at]) for at in range(1, len(truths) + 1)]
    falls = next(
        (at for at in range(10, len(means) + 1) if means[at - 1] < max(means[:at]) - FALL), None
    )
    return {"alarms": watch.alarms, "best": max(means), "falls": falls, "steps": steps}


def truth(sample: Sample) -> float:
    return judge_description(sample.completion, scene_named(sample.columns["scene"])).f1


def between(steps: Sequence[dict[str, float]], key: str) -> str:
    """The means of a key over the first ten and the last ten steps."""
    parts = ([step[key] for step in part if key in step] for part in (steps[:10], steps[-10:]))
    return " to ".join(f"{fmean(part):.2f}" if part else "none" for part in parts)


def closeness(
    count: int, named: Sequence[str] = (), teacher: str | None = None
) -> list[dict[str, Any]]:
    """On descriptions with mistakes: how near to the teacher's verdicts the cascade's are, and what
    that costs.
    """
    samples = described(count)
    expected = scores(teacher_named(teacher), samples)
    students: dict[str, Callable[[], Judge]] = {
        "match": MatchJudge,
        "calibrated": CalibratedStudent,
        "gullible": STUDENTS["farmed"],
        **{name: partial(load_judge, name) for name in named if name not in (*STUDENTS, TEACHER)},
    }
    found = []
    for name, student in students.items():
        alone = spearmanr(scores(student(), samples), expected).statistic
        found.append(
            {
                "student": name,
                "sure": "alone",
                "teacher_share": 0.0,
                "correlation": alone,
                "agreement": math.nan,
            }
        )
        for sure in SURE:
            judge = CascadeJudge(student(), teacher_named(teacher), sure=sure)
            correlation = spearmanr(scores(judge, samples), expected).statistic
            used = judge.usage
            share, agreement = (
                used.teacher / used.questions,
                used.agreed / used.audited if used.audited else math.nan,
            )
            found.append(
                {"student": name, "sure": sure, "teacher_share": share, "correlation": correlation}
            )
            found[-1] |= {"agreement": agreement, "audited": used.audited}
    return found


def described(count: int, split: Split = "test") -> list[Sample]:
    """A terse and a full description of each picture. Both have some things of the next picture."""
    rows, _ = pictures(count, questions=False, split=split)
    samples = []
    for number, row in enumerate(rows):
        rng = random.Random(f"cascade {number}")
        other = rows[(number + 1) % count]["scene"]
        for keep in (0.55, 1.0):
            things = [
                rng.choice(other.objects) if rng.random() < 0.3 else thing
                for thing in row["scene"].objects
            ]
            text = describe(replace(row["scene"], objects=tuple(things)), rng, keep, keep)
            samples.append(read_sample(row, text, row["prompt"]))
    return samples


def scores(judge: Judge, samples: Sequence[Sample]) -> list[float]:
    with closing([judge]), judge:
        return [verdict.score or 0.0 for verdict in PoshReward(judge).judge_samples(samples)]
