"""What a recipe's rewards ask about groups of so many descriptions of so many words: counted, on
Scenes, with `match`.

    trace = trace_of(recipe.rewards[0], references=1, prompts=3, group=8, words=100, encode=encoder("smollm2"))
    trace.questions, trace.tokens, trace.computed     # of each of the three prompts

A description of many words is those of several pictures, one after another; a group's are in
different words, with things left out and facts that are wrong, as a policy's are. `match` answers
as a sure judge would: one that is never sure is asked up to 1.7 times as much by PoSh
(docs/evidence/cost.md).
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.benchmark.groups import mistaken
from experiments.benchmark.posh import Meter, Tokens, computed
from experiments.scenes.language import criteria, describe
from experiments.scenes.questions import ask
from experiments.scenes.world import Scene, make_scenes
from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.judges.match.match_judge import MatchJudge
from spanreward.rewards.metrics import build_reward
from spanreward.training.recipe import RewardPart

BLOCK = 16  # tokens of a block of vLLM's prefix cache on a GPU; on a CPU 32
PICTURES = 400  # that the texts are made from, of level 1: one to three objects each
# options that name what need not be on this machine
ELSEWHERE = ("text_judge", "pipeline", "coref")
SEEING = ("harmonic", "pairwise", "criteria")


@dataclass(frozen=True, slots=True)
class Trace:
    """Per traced prompt, for its whole group: different questions, how many of them are answered in
    writing, their tokens, and those that a prefix cache leaves to compute. words: of a completion,
    in the mean.
    """

    words: float
    questions: tuple[int, ...]
    writes: tuple[int, ...]
    tokens: tuple[int, ...]
    computed: tuple[int, ...]


def trace_of(
    part: RewardPart,
    references: int,
    prompts: int,
    group: int,
    words: int,
    encode: Callable[[Any], Tokens],
) -> Trace:
    """Count each prompt's group by itself: no two prompts share a question.

    Raises ValueError as build_reward does.
    """
    groups = make_groups(prompts, group, words, references)
    counts = []
    for samples in groups:
        waves, kinds = waves_of(part, samples, encode)
        writes = sum(len(wave) for wave, kind in zip(waves, kinds, strict=True) if kind == "write")
        tokens = sum(len(prompt) for wave in waves for prompt in wave)
        counts.append((sum(map(len, waves)), writes, tokens, sum(computed(waves, as_it_is, BLOCK))))
    said = [len(sample.completion.split()) for samples in groups for sample in samples]
    questions, writes_of, tokens_of, computed_of = zip(*counts, strict=True)
    return Trace(sum(said) / len(said), questions, writes_of, tokens_of, computed_of)


def waves_of(
    part: RewardPart, samples: Sequence[Sample], encode: Callable[[Any], Tokens]
) -> tuple[list[list[Tokens]], list[str]]:
    """What the recipe's reward asks about the samples, wave by wave: the prompts that no wave
    before had, sorted as judges send them; and whether they are to be rated or written. What is
    elsewhere (a pipeline, a second judge) is left out, and pictures are told in words.
    """
    meter = Meter(MatchJudge())
    options = {name: value for name, value in part.options.items() if name not in ELSEWHERE}
    if part.metric in SEEING:
        options["evidence"] = "context"
    build_reward(part.metric, meter, options).assess(samples)
    known: set[Tokens] = set()
    waves = []
    for wave in meter.asked:
        new = {encode(question) for question in wave} - known
        known |= new
        waves.append(sorted(new))
    return waves, [wave.kind for wave in meter.waves]


def make_groups(prompts: int, group: int, words: int, references: int) -> list[list[Sample]]:
    """A group for each prompt, with all columns that a metric may want."""
    scenes = make_scenes("test", 1, PICTURES)
    return [group_of(number, scenes, group, words, references) for number in range(prompts)]


def group_of(
    number: int, scenes: Sequence[Scene], group: int, words: int, references: int
) -> list[Sample]:
    generator = random.Random(f"scale {number} {words}")
    shown: list[Scene] = []
    while len(in_words(shown, random.Random(0)).split()) < words:
        shown.append(generator.choice(scenes))
    question = ask(shown[0], generator)
    known: dict[str, Any] = {
        "id": str(number),
        "references": tuple(in_words(shown, generator) for _ in range(references)),
        "context": in_words(shown, generator),
        "anchor": in_words(shown, generator),
        "criteria": tuple(criteria(shown[0])),
        "question": question.text,
        "answers": question.answers,
    }
    texts = [
        in_words([mistaken(scene, generator) for scene in shown], generator, 0.9)
        for _ in range(group)
    ]
    return [Sample(f"Describe picture {number}.", text, **known) for text in texts]


def in_words(scenes: Sequence[Scene], generator: random.Random, keep: float = 1.0) -> str:
    return " ".join(describe(scene, generator, keep, keep) for scene in scenes)


def as_it_is(prompt: Tokens) -> Tokens:
    return prompt


def shared(waves: Sequence[Sequence[Tokens]], servers: int, dealt: bool) -> int:
    """Tokens to compute where so many servers share the prompts, each with a prefix cache of its
    own: in stretches of neighbours, as a balancer that routes by prefix may come near, or dealt one
    by one.
    """
    total = 0
    for server in range(servers):
        if dealt:
            own = [wave[server::servers] for wave in waves]
        else:
            own = [
                wave[len(wave) * server // servers : len(wave) * (server + 1) // servers]
                for wave in waves
            ]
        total += sum(computed(own, as_it_is, BLOCK))
    return total
