"""The `encoder:` judge on CUDA: the CPU's probabilities in bfloat16, and what reading a batch
takes.
"""

import re
import time
from pathlib import Path
from typing import Any

import torch
from scipy.stats import spearmanr

from spanreward.rewards import PoshReward, Status
from spanreward.rewards.experimental.encoder_judge import EncoderJudge
from tests.gpu.conftest import Machine
from tests.gpu.descriptions import descriptions
from tests.support.tiny_encoder import saved

# ModernBERT-base's sizes (Warner et al. 2024, arXiv 2412.13663, table 4)
BASE = {
    "hidden_size": 768,
    "intermediate_size": 1152,
    "num_hidden_layers": 22,
    "num_attention_heads": 12,
}
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def test_an_encoder_reads_as_on_the_cpu_and_fast(
    tmp_path: Path, machine: Machine, figures: dict[str, Any]
) -> None:
    """64 descriptions with PoSh, as `test_judging_a_batch_of_64_descriptions` asks a model of 8
    B.
    """
    count = 64 if machine.real else 8
    samples = descriptions(count)
    pairs = [(sample.completion, sample.references[0]) for sample in samples]
    words = sorted(
        {word for pair in pairs for text in pair for word in re.findall(r"\w+|[.,]", text)}
    )
    sizes = {**BASE, "initializer_range": 1.6 / 768**0.5} if machine.real else {}
    folder = saved(tmp_path, modern=True, length=1024, words=[*SPECIAL, *words], changes=sizes)

    # outside `with` it is on the CPU
    exact = [list(read.values()) for read in EncoderJudge(folder).read(pairs[:8])]
    judge = EncoderJudge(folder)
    with judge:
        coarse = [list(read.values()) for read in judge.read(pairs[:8])]
    flat = [[p for row in rows for p in row] for rows in (exact, coarse)]
    assert [len(row) for row in exact] == [len(row) for row in coarse]
    figures["encoder: largest difference of a probability from the CPU's float32"] = max(
        abs(one - other) for one, other in zip(*flat, strict=True)
    )
    figures["encoder: rank correlation of bfloat16 with the CPU's float32"] = found = float(
        spearmanr(*flat).statistic
    )
    assert found > 0.99
    if machine.real:
        assert next(judge._loaded[1].parameters()).device.type == "cpu"  # type: ignore[index]  # asleep

    began = time.monotonic()
    verdicts = PoshReward(judge).assess(samples)
    figures["encoder, PoSh of 64 descriptions: questions, seconds, and of these the judge's"] = [
        judge.usage.questions,
        round(time.monotonic() - began, 2),
        round(judge.usage.seconds, 2),
    ]
    assert {verdict.status for verdict in verdicts} == {Status.OK}
    with judge:
        began = time.monotonic()
        judge.read(pairs)
        if machine.real:
            torch.cuda.synchronize()
        figures["encoder: pairs a second"] = round(count / (time.monotonic() - began), 1)
