"""What is on the picture, as a referee of comparisons: it asks no judge, and nothing is trained on
it.

    referees:
      - metric: experiments/scenes/truth.py:Truth

The scene is made again from its name in the column `scene`. Parts are the F1, precision and recall
of the text's claims; the spans are the claims that are wrong. A row that asks a question is not
applicable.
"""

from collections.abc import Sequence
from functools import cache

from experiments.scenes.referee import judge_description
from experiments.scenes.world import Scene, Split, make_scenes
from spanreward import Sample, Span, Status, Verdict
from spanreward.rewards.reward.plain_text_reward import PlainTextReward


class Truth(PlainTextReward):
    columns = ("scene",)
    main_parts = ("f1", "precision", "recall")

    def __init__(self, name: str = "truth") -> None:
        super().__init__(name)

    def assess_plain(self, samples: Sequence[Sample]) -> list[Verdict]:
        return [self._judge(sample) if sample.references else NO_DESCRIPTION for sample in samples]

    def _judge(self, sample: Sample) -> Verdict:
        truth = judge_description(sample.completion, scene_named(sample.columns["scene"]))
        parts = {"f1": truth.f1, "precision": truth.precision, "recall": truth.recall}
        wrong = [
            Span(start, end, 0.0, 0.0, "claim", "", number)
            for number, (start, end) in enumerate(truth.wrong)
        ]
        return Verdict(truth.f1, parts=parts, spans=tuple(wrong))


NO_DESCRIPTION = Verdict(None, Status.NOT_APPLICABLE)


def scene_named(name: str) -> Scene:
    """The scene whose `seed` this is: "SPLIT LEVEL SEED NUMBER"."""
    split, level, seed, number = name.split()
    count = 256 * (int(number) // 256 + 1)  # the first scenes of a larger number are the same
    return first_scenes(split, int(level), count, int(seed))[int(number)]  # type: ignore[arg-type]


@cache
def first_scenes(split: Split, level: int, count: int, seed: int) -> list[Scene]:
    return make_scenes(split, level, count, seed)
