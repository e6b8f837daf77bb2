"""Texts that people reported, in many spellings: what each is worth to PoSh by `match`.

for case in text_cases(PoshReward(MatchJudge()), Path("../shared/field")):
    print(case.name, case.score)

`texts.jsonl` has a case a line: case, completion, reference, right (what should come out), today
(what came out before, null where it was not tried).
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.reward.plain_text_reward import plain_sample
from spanreward.rewards.reward.reward import Reward

FOLDER = Path(__file__).parents[2] / "../shared/field"


@dataclass(frozen=True, slots=True)
class Case:
    """A case's score as it was written, the score of its plain text (wanted), that of before, and
    its spans' kinds.
    """

    name: str
    score: float
    wanted: float
    before: float | None
    kinds: frozenset[str]


def text_cases(reward: Reward, folder: Path = FOLDER) -> Iterator[Case]:
    """Judges the cases of `texts.jsonl`; none where the folder is not there."""
    file = folder / "texts.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.is_file() else []
    samples = [Sample("", row["completion"], references=(row["reference"],)) for row in rows]
    plain = reward.judge_samples([plain_sample(sample) for sample in samples])
    for row, verdict, wanted in zip(rows, reward.judge_samples(samples), plain, strict=True):
        kinds = frozenset(span.kind for span in verdict.spans)
        yield Case(row["case"], verdict.score or 0.0, wanted.score or 0.0, row.get("today"), kinds)
