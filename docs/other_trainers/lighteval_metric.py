"""PoSh as a metric of lighteval (run with 0.13.0).

    pip install lighteval spanreward
    # in a task's file: from lighteval_metric import posh
    LightevalTaskConfig(..., metrics=[posh])

lighteval hands a batched metric all documents of a task, which are judged together. The choices that `gold_index` names
are the references. A document that the judge failed on is NaN in the details, and is in no mean; the standard error of
that task is then NaN. Of several samples for a document the first is judged.
"""

import os

import numpy as np
from lighteval.metrics.metrics_sample import SampleLevelComputation
from lighteval.metrics.utils.metric_utils import SampleLevelMetric
from lighteval.tasks.requests import SamplingMethod

from spanreward import PoshReward, Sample, load_judge

JUDGE = os.environ.get("POSH_JUDGE", "match")  # or "server:http://127.0.0.1:8000#Qwen/Qwen3-14B"


class Posh(SampleLevelComputation):
    def __init__(self):
        self.reward = PoshReward(load_judge(JUDGE))

    def compute(self, responses, docs):
        samples = []
        for response, doc in zip(responses, docs, strict=True):
            references = tuple(doc.get_golds())
            samples.append(Sample(doc.query, response.final_text[0], references=references))
        verdicts = self.reward.judge_samples(samples)
        return [np.nan if verdict.score is None else verdict.score for verdict in verdicts]


posh = SampleLevelMetric(
    metric_name="posh",
    sample_level_fn=Posh(),
    category=SamplingMethod.GENERATIVE,
    corpus_level_fn=np.nanmean,
    higher_is_better=True,
    batched_compute=True,
)
