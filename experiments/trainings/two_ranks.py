"""One of two ranks that share a group of eight completions, started by torchrun in steps.py:

    torchrun --nproc_per_node 2 -m experiments.trainings.two_ranks FOLDER

writes to FOLDER/RANK.json, for each trainer, the advantages of this rank's completions, or the
sentence with which it refuses.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

from accelerate import PartialState

from experiments.trainings.enacting import QUESTIONS, TEXTS, Refused, rows, trainer_of
from spanreward import PairwiseReward
from spanreward.training.policy import load_policy
from tests.support.pair_judges import PairJudge, better

KINDS = ("SpanGRPOTrainer", "GRPOTrainer")
GROUP = len(TEXTS)  # completions of one prompt; a longer one is better


def advantages_of_rank(folder: Path, stock: bool, rank: int, ranks: int) -> list[float]:
    """Returns the advantages of this rank's share of the group, of the policy that is in the
    folder.
    """
    each = GROUP // ranks
    data = rows("Llama").add_column("context", ["A red star."] * len(QUESTIONS))
    trainer = trainer_of(
        "Llama",
        folder,
        data,
        loaded=load_policy(str(folder / "policy")),
        stock=stock,
        rewards=[PairwiseReward(PairJudge(better(len)), evidence="context", mode="published")],
        per_device_train_batch_size=each,
        num_generations=GROUP,
        max_completion_length=96,
    )
    tokenizer = trainer._tokenizer
    texts = TEXTS[rank * each : (rank + 1) * each]
    ids = [[*tokenizer(text)["input_ids"], tokenizer.eos_token_id] for text in texts]
    trainer._generate_single_turn = lambda *_, **__: (ids, None)
    trainer.model.train()
    batch = trainer._generate_and_score_completions([trainer.train_dataset[0]] * each)
    advantages: list[float] = batch["advantages"].tolist()
    return advantages


def main() -> None:
    folder = Path(sys.argv[1])
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    outcomes: dict[str, Any] = {}
    for kind in KINDS:
        try:
            outcomes[kind] = advantages_of_rank(folder, kind == "GRPOTrainer", rank, ranks)
        except Refused as error:
            outcomes[kind] = str(error)
    (folder / f"{rank}.json").write_text(json.dumps(outcomes))
    PartialState().wait_for_everyone()  # who leaves first would end the other


if __name__ == "__main__":
    main()
