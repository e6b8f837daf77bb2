"""How true what a policy says of Scenes is, on pictures that it did not learn from.

pictures = HeldOutPictures(recipe.validation_data, 256)
pictures.measure(model, processor, max_tokens=96)
# {"truth_f1": .81, "precision": .92, "recall": .75, "tokens": 20.3}
"""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from experiments.scenes.parts import scenes_of
from experiments.scenes.referee import judge_description
from experiments.scenes.world import Scene
from experiments.span_credit.rollouts import sample
from spanreward.training.data.load import load_data
from spanreward.training.evaluation.answers.greedy import continue_prompts
from spanreward.training.recipe import FilePart

SAMPLED = 2  # completions of each picture at temperature 1


class HeldOutPictures:
    """The first `count` pictures of a recipe's validation data."""

    def __init__(self, data: FilePart, count: int) -> None:
        self.data = data.model_copy(update={"count": count})
        self.rows = list(load_data(self.data))
        self.scenes = scenes_of(self.data)

    def measure(self, model: Any, processor: Any, max_tokens: int) -> dict[str, float]:
        """Returns means over greedy completions."""
        model.eval()
        texts, lengths = continue_prompts(
            model, processor, self.rows, max_tokens, batch_size=len(self.rows)
        )
        model.train()
        return truth_of(texts, self.scenes) | {"tokens": fmean(lengths)}

    def measure_sampled(
        self, model: Any, processor: Any, max_tokens: int, seed: int
    ) -> dict[str, float]:
        """Returns means over SAMPLED completions of each picture, as training samples them."""
        model.eval()
        sampled = sample(model, processor, self.rows, SAMPLED, max_tokens, seed)
        model.train()
        scenes = [self.scenes[one.row] for one in sampled]
        return truth_of([one.text for one in sampled], scenes)


def truth_of(texts: Sequence[str], scenes: Sequence[Scene]) -> dict[str, float]:
    truths = []
    for text, scene in zip(texts, scenes, strict=True):
        truths.append(judge_description(text, scene))
    return {
        "truth_f1": fmean(truth.f1 for truth in truths),
        "precision": fmean(truth.precision for truth in truths),
        "recall": fmean(truth.recall for truth in truths),
    }
