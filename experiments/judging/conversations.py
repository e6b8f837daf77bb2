"""What a language model learns to judge Scenes from: texts, and what is asked of each with its answer.

    rows = judge_rows(count=100)
    rows[0]     # {"prompts": ["You check what ... Does the TEXT speak of \"star\"?", ...], "answers": ["5", "1", ...]}

Every prompt is one that a metric asks as it stands (lessons.py); those of a row are about the same text and begin
alike, so that training may compute their beginning once (branches.py). Labels are soft by being drawn: each answer is
a draw from its question's distribution, which in the mean is the cross-entropy with that distribution.
"""

import random
from collections.abc import Sequence

from experiments.judging.lessons import Lesson, lave_lessons, pair_lessons, posh_lessons
from experiments.scenes.world import Scene, Split, make_scenes

Row = dict[str, list[str]]


def judge_rows(
    levels: Sequence[int] = (1, 2),
    split: Split = "train",
    count: int = 4000,
    questions: int = 12,
    seed: int = 0,
) -> list[Row]:
    """Of every picture the questions of PoSh about two texts; of every second one also LAVE's about an answer and one
    about a pair of texts, a row each.

    levels: of the pictures, as many of each. count: pictures. questions: of PoSh about a text, at most.
    """
    generator = random.Random(f"judge {split} {seed}")
    scenes = judged_scenes(levels, split, count, seed)
    rows = by_text(posh_lessons(scenes, generator), generator, questions)
    rows += [[lesson] for lesson in lave_lessons(scenes[::2], generator)]
    rows += [
        [lesson] for lesson in pair_lessons(scenes[::2], generator)[::2]
    ]  # one order of each pair
    generator.shuffle(rows)
    return [answered(lessons, generator) for lessons in rows]


def judged_scenes(
    levels: Sequence[int] = (1, 2), split: Split = "train", count: int = 4000, seed: int = 0
) -> list[Scene]:
    """The pictures that are spoken of: as many of each level, in turns."""
    share = -(-count // len(levels))
    by_level = [make_scenes(split, level, share, seed) for level in levels]
    return [scene for together in zip(*by_level, strict=True) for scene in together][:count]


def by_text(lessons: Sequence[Lesson], generator: random.Random, most: int) -> list[list[Lesson]]:
    """The lessons on each text, at most so many: half of them of what the text does not say, where there are so many,
    as a judge that always says yes is right in four of five.
    """
    texts: dict[str, list[Lesson]] = {}
    for lesson in lessons:
        texts.setdefault(lesson.question.probe.text, []).append(lesson)
    rows = []
    for several in texts.values():
        no = [lesson for lesson in several if lesson.right == "1"]
        yes = [lesson for lesson in several if lesson.right != "1"]
        chosen = generator.sample(no, min(len(no), most // 2))
        rows.append(chosen + generator.sample(yes, min(len(yes), max(most // 4, len(chosen)))))
    return rows


def answered(lessons: Sequence[Lesson], generator: random.Random) -> Row:
    """The prompts as they are asked, each with a draw from its distribution."""
    prompts, answers = [], []
    for lesson in lessons:
        (message,) = lesson.question.messages
        entries, shares = zip(*lesson.target.items(), strict=True)
        prompts.append(message["content"])
        answers += generator.choices(entries, weights=shares)
    return {"prompts": prompts, "answers": answers}
