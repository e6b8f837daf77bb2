"""A pytest plugin that builds one of ours where a test names TRL's trainer, and writes down what
came of each case.

    python -m pytest -p experiments.trl_tests.plugin --side SpanGRPOTrainer --record ours.json tests

After each `train()` and `evaluate()`, those within a training too, it takes the SHA-256 of the
weights and the logs without times.
"""

import functools
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch
import trl
from transformers import TrainingArguments, set_seed

from spanreward import SpanGRPOConfig, SpanGRPOTrainer

SIDES: dict[str, dict[str, type]] = {  # what each puts in TRL's place
    "GRPOTrainer": {},
    "SpanGRPOTrainer": {"GRPOTrainer": SpanGRPOTrainer},
    "SpanGRPOConfig": {"GRPOTrainer": SpanGRPOTrainer, "GRPOConfig": SpanGRPOConfig},
}
COUNTED = "test_prepare_input_called_with_correct_data"  # counts the steps of a whole training
TIMES = ("_runtime", "_per_second", "step_time")


class Record:
    """cases: of each that ended, its outcome and the reason. calls: of each case, what its calls
    left behind.
    """

    def __init__(self, file: Path, steps: int | None) -> None:
        self.file = file
        self.steps = steps
        self.cases: dict[str, tuple[str, str]] = {}
        self.calls: dict[str, list[dict[str, str]]] = {}

    def watch(self, kind: type, name: str) -> None:
        inner = getattr(kind, name)

        @functools.wraps(inner)
        def call(trainer: Any, *arguments: Any, **settings: Any) -> Any:
            case = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]
            if (
                name == "train"
                and self.steps
                and trainer.args.max_steps < 0
                and not case.endswith(COUNTED)
            ):
                trainer.args.max_steps = self.steps
            result = inner(trainer, *arguments, **settings)
            left = {
                "call": name,
                "weights": digest(trainer.model),
                "logs": logs(trainer.state.log_history),
            }
            self.calls.setdefault(case, []).append(left)
            return result

        setattr(kind, name, call)

    @pytest.fixture(autouse=True)
    def _seed(self) -> None:
        set_seed(0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            left_out = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
            self.cases[report.nodeid] = (
                report.outcome,
                left_out.removeprefix("Skipped: ") or error_of(report),
            )

    def pytest_sessionfinish(self) -> None:
        self.file.write_text(json.dumps({"cases": self.cases, "calls": self.calls}))


def error_of(report: pytest.TestReport) -> str:
    """Returns the first line that pytest marks as the error, "" where there is none."""
    lines = report.longreprtext.splitlines()
    return next((line.removeprefix("E").strip() for line in lines if line.startswith("E  ")), "")


def digest(model: torch.nn.Module) -> str:
    """Returns the SHA-256 of the names and bytes of all weights."""
    found = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        found.update(name.encode())
        found.update(tensor.detach().cpu().reshape(-1).view(torch.uint8).numpy().tobytes())
    return found.hexdigest()


def logs(history: list[dict[str, Any]]) -> str:
    return json.dumps(
        [
            {name: one for name, one in entry.items() if not name.endswith(TIMES)}
            for entry in history
        ]
    )


def choose_the_cpu() -> None:
    """The tests leave the choice to transformers, which then refuses bfloat16, TRL's default,
    without a GPU.
    """
    inner = TrainingArguments.__post_init__

    def chosen(args: TrainingArguments) -> None:
        args.use_cpu = True
        inner(args)

    TrainingArguments.__post_init__ = chosen  # type: ignore[method-assign]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--side", choices=SIDES, required=True)
    parser.addoption("--record", type=Path, required=True)
    parser.addoption("--steps", type=int)


def pytest_configure(config: pytest.Config) -> None:
    choose_the_cpu()
    for name, ours in SIDES[config.getoption("--side")].items():
        setattr(trl, name, ours)
    record = Record(config.getoption("--record"), config.getoption("--steps"))
    for name in ("train", "evaluate"):
        record.watch(trl.GRPOTrainer, name)
    config.pluginmanager.register(record, "record")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves out what tests settings that the installed TRL has not got yet."""
    for item in items:
        if (
            "PaddingFree" in item.nodeid
            and "padding_free" not in trl.GRPOConfig.__dataclass_fields__
        ):
            item.add_marker(
                pytest.mark.skip(f"tests padding_free, which TRL {trl.__version__} lacks")
            )
