"""A whole comparison: answers, judged answers, statistics, and the files that hold them.

comparison = compare(setup, Path("outputs/comparison"))

results.json       every number that is printed or shown, and more
completions.jsonl  each answer with its scores, the first reward's verdict, and the judge's reasons
report.html        one page for people
answers/           what each policy wrote, for the next comparison
"""

import json
from collections.abc import Callable
from pathlib import Path

from spanreward.training.evaluation.answers.setup import Setup
from spanreward.training.evaluation.judged.evaluate import evaluate
from spanreward.training.evaluation.page.report import write_report
from spanreward.training.evaluation.page.results import results_of, write_completions
from spanreward.training.evaluation.page.shown import shown_prompts
from spanreward.training.evaluation.statistics.comparison import Comparison, summarise


def compare(setup: Setup, output: Path, progress: Callable[[str], None] = lambda done: None) -> Comparison:
    """Judges all answers, and writes the files into the output folder. progress: is called after every run."""
    evaluation = evaluate(setup, output / "answers", progress)
    comparison = summarise(setup, evaluation)
    output.mkdir(parents=True, exist_ok=True)
    (output / "results.json").write_text(json.dumps(results_of(comparison), indent=2) + "\n")
    write_completions(output / "completions.jsonl", setup, evaluation.answers)
    shown = shown_prompts(setup.prompts, evaluation.answers, comparison.lost_by)
    write_report(output / "report.html", comparison, shown)
    return comparison
