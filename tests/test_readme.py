"""The README's promises that can be run."""

import re
from pathlib import Path

from experiments.scenes.parts import TINY, scenes_part
from spanreward.training.data.load import load_data
from spanreward.training.policy import load_policy
from tests.support.paths import ROOT


def test_the_ten_lines_train_a_stock_trainer(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text()
    block = re.search(r"<!-- tested by tests/test_readme.py -->\n```python\n(.*?)```", readme, re.DOTALL)
    assert block is not None
    code = block.group(1)
    assert code.count("\n") <= 11
    model, processor = load_policy(TINY)
    settings = {
        "per_device_train_batch_size": 4,
        "num_generations": 2,
        "max_completion_length": 8,
        "max_steps": 1,
        "logging_steps": 1,
        "save_strategy": "no",
        "report_to": "none",
        "bf16": False,
        "use_cpu": True,
        "disable_tqdm": True,
    }
    names = {"model": model, "processor": processor, "output": str(tmp_path), "settings": settings}
    names["dataset"] = load_data(scenes_part(count=8))
    exec(code, names)  # the README's own text
    logged = names["trainer"].state.log_history[0]
    assert {"reward", "posh/f1", "posh/precision", "posh/recall"} <= set(logged)


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150
