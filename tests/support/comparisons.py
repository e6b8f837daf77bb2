"""Comparisons of a few invented scores, for tests of what is made from them."""

from dataclasses import replace
from typing import Any

from spanreward.training.evaluation.answer_scores.metrics import METRICS_WITHOUT_JUDGE, Metric
from spanreward.training.evaluation.answers.prompts import Prompts
from spanreward.training.evaluation.answers.setup import Setup
from spanreward.training.evaluation.statistics.comparison import Comparison
from spanreward.training.evaluation.statistics.estimates import as_scores
from spanreward.training.evaluation.statistics.outcomes import Compared, judge_pair
from spanreward.training.evaluation.statistics.pairs import Pair
from spanreward.training.evaluation.statistics.summary import Summary, summarise_models

BEFORE = {"before": {"truth_f1": [[0.1, 0.2]]}}  # beside a model that a test is about


def comparison_of(scores: Any, title: str = "T", facts: Any = None, **changes: Any) -> Comparison:
    """scores: {model: {metric: (seeds, prompts)}}. changes: fields of the comparison."""
    summary = summarise_models(scores, resamples=50)
    names = list(next(iter(scores.values())))
    seeds, prompts = as_scores(next(iter(scores.values()))[names[0]]).shape
    setup = Setup(
        sides={model: [f"{model}{seed}" for seed in range(seeds)] for model in scores},
        seeds=list(range(seeds)),
        prompts=Prompts([{}] * prompts, {}, {"source": "rows"}),
        parts=[],
        rewards=[],
        max_tokens=8,
        title=title,
        facts=facts or {},
    )
    pairs = [
        Pair(
            later,
            earlier,
            {name: Compared(found, judge_pair(found, name)) for name, found in table.items()},
            slices=[],
            sentence=f"{later} against {earlier}.",
            headline=f"{later} against {earlier}, in short.",
        )
        for (later, earlier), table in summary.differences.items()
    ]
    metrics = {
        name: METRICS_WITHOUT_JUDGE.get(name) or Metric("judgeless", "", main=True)
        for name in names
    }
    found = Comparison(
        setup, metrics, summary.models, pairs, names[:1], [], Summary({}, {}), {}, [], []
    )
    return replace(found, **changes)
