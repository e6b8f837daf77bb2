"""Memory does not grow with the number of verdicts, and new words are forgotten."""

import gc
import random
import string

import psutil

from spanreward import MatchJudge, PoshReward, Sample, Status
from spanreward.rewards.language.pipeline import load_pipeline

# MB over 600 verdicts; they take up to 6, and 15 where whole graphs are kept of the references
LIMIT = 10
BATCH = 50


def test_verdicts_on_new_words_leave_little_behind() -> None:
    generator, process = random.Random(0), psutil.Process()
    reward = PoshReward(MatchJudge())

    def word() -> str:
        return "".join(generator.choices(string.ascii_lowercase, k=8))

    def sentence() -> str:
        return f"A {word()} {word()} sits on the {word()} {word()} near {word()}."

    def judge(count: int) -> None:
        for _ in range(count // BATCH):
            texts = [" ".join(sentence() for _ in range(4)) for _ in range(BATCH)]
            verdicts = reward.assess([Sample("", "A circle.", references=text) for text in texts])
            assert {verdict.status for verdict in verdicts} == {Status.OK}
        gc.collect()

    judge(4 * BATCH)
    before = process.memory_info().rss
    words = len(load_pipeline().vocab.strings)
    judge(12 * BATCH)
    assert len(load_pipeline().vocab.strings) == words
    assert process.memory_info().rss - before < LIMIT * 2**20
