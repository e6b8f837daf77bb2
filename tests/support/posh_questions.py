"""PoSh's questions on published pairs, for judges that must answer real ones."""

import json

import pytest

from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.judges import Question
from spanreward.rewards.posh import PoshReward
from tests.support.fakes import FakeJudge, certain
from tests.support.paths import DATA

PAIRS = DATA / "bench_pairs.jsonl"


def posh_questions(count: int) -> list[Question]:
    """PoSh's questions on two published pairs, evenly taken from all of them."""
    if not PAIRS.exists():
        pytest.skip(f"needs {PAIRS}")
    rows = [json.loads(line) for line in PAIRS.read_text().splitlines()[:2]]
    listener = FakeJudge(rate=lambda prompt: certain(5))
    samples = [Sample("", row["completion"], references=(row["reference"],)) for row in rows]
    PoshReward(listener).assess(samples)
    prompts = list(dict.fromkeys(prompt for call in listener.rated for prompt in call))
    assert len(prompts) >= count
    chosen = [prompts[i * len(prompts) // count] for i in range(count)]
    return [Question([{"role": "user", "content": prompt}]) for prompt in chosen]
