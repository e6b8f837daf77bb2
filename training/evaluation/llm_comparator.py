"""The last two models as a file for PAIR's LLM Comparator (pair-code.github.io/llm-comparator).

    json.dumps(comparator(shown, results))

Model A is the last model. Scores above 0 say that A is better, on the tool's scale of -1.5 to 1.5: 1.5 times the
difference in the metric that says who lost, which every example names. The other metrics are its individual raters.
Prompts that no judge could score are left out and counted: the format could only show them as ties.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from spanreward.training.evaluation.outcomes import label
from spanreward.training.evaluation.shown import ShownPrompt, gap

SCALE = 1.5


def comparator(shown: Sequence[ShownPrompt], results: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the file's content, in the format of the tool's README."""
    *_, b, a = results["models"]
    judged = [one for one in shown if one.margin is not None]
    metrics = list(results["models"][a])
    numbers = [metric for metric in metrics if all(metric in one.answers[m].scores for one in judged for m in (a, b))]
    left_out = len(shown) - len(judged)
    return {
        "metadata": {
            "source_path": f"spanreward compare, {a} against {b}, seed {results['seeds'][0]}; {left_out} of "
            f"{len(shown)} prompts left out, as no referee could score both answers",
            "custom_fields_schema": [
                {"name": "id", "type": "string"},
                {"name": "scored by", "type": "category"},
                {"name": "referees disagree", "type": "category"},
                *({"name": label(metric), "type": "per_model_number"} for metric in numbers),
            ],
        },
        "models": [{"name": a}, {"name": b}],
        "examples": [example(one, a, b, numbers, results["lost_by"]) for one in judged],
    }


def example(shown: ShownPrompt, a: str, b: str, numbers: Sequence[str], lost_by: Sequence[str]) -> dict[str, Any]:
    one, two = shown.answers[a], shown.answers[b]
    raters = {metric: gap(one, two, metric) for metric in lost_by}
    return {
        "input_text": shown.prompt,
        "tags": [f"{name}: {value}" for name, values in shown.slices.items() for value in values],
        "output_text_a": one.text,
        "output_text_b": two.text,
        "score": scaled(shown.margin or 0.0),
        "individual_rater_scores": [
            {"is_flipped": False, "score": scaled(value), "rationale": f"{label(metric)}: {value:+.3f}"}
            for metric, value in raters.items()
            if value is not None
        ],
        "custom_fields": {
            "id": shown.id,
            "scored by": label(shown.by),
            "referees disagree": "yes" if shown.disagree else "no",
            **{label(metric): [one.scores[metric], two.scores[metric]] for metric in numbers},
        },
    }


def scaled(difference: float) -> float:
    """Returns a difference of scores, clipped to [-1, 1], on the tool's scale."""
    return SCALE * max(-1.0, min(1.0, difference))
