"""Two real ranks. One has other rows, or a judge that answers nothing, or is lost: the run ends in
time, in one sentence, with an exit code above 0 and nothing left running.
"""

import json
import re
import time
from pathlib import Path
from uuid import uuid4

from experiments.benchmark.kills import marked
from experiments.scenes.parts import TINY
from tests.support import lost_ranks
from tests.support.on_two_ranks import on_two_ranks

TIMEOUT = 20  # seconds that a rank waits for another
FAULTS = lost_ranks.__file__
OVERRIDES = (
    *(f"policy.model={TINY}", "trainer.max_steps=6", "trainer.logging_steps=1"),
    *("trainer.num_generations=4", "trainer.max_completion_length=16"),
    *("trainer.soft_overlong_cache=4", "trainer.num_iterations=1"),
    *("trainer.steps_per_generation=1", "trainer.per_device_train_batch_size=4", "data.count=16"),
)


def ended(folder: Path, *overrides: str) -> tuple[int, list[str], float]:
    """Launches two ranks. Returns the exit code, the lines that the ranks left of themselves, and
    the seconds.

    Kills and fails on what is left running. The ranks and what they start have a variable of the
    environment.
    """
    mark = uuid4().hex
    began = time.monotonic()
    settings = [*OVERRIDES, f"output={folder / 'out'}", *overrides]
    train = ("-m", "spanreward", "train", "recipes/quickstart/scenes-dapo.yaml")
    done = on_two_ranks(*train, "--set", *settings, PYTHONHASHSEED="random", SPANREWARD_TEST=mark)
    seconds = time.monotonic() - began
    assert marked(f"SPANREWARD_TEST={mark}") == []
    words = []
    for line in done.stderr.splitlines():
        _, program, sentence = line.partition("spanreward train: ")  # a bar may stand before it
        if program:
            words.append(sentence)
    assert words, done.stderr
    assert "gloo/transport" not in done.stderr, done.stderr
    return done.returncode, words, seconds


def test_rows_of_another_order_are_refused_before_the_first_step(tmp_path: Path) -> None:
    data = f"data={{source: '{FAULTS}:unordered', options: {{count: 16}}}}"
    code, words, _ = ended(tmp_path, data, "trainer.per_device_train_batch_size=2")
    assert code != 0
    assert all("other rows of train_dataset: the " in line for line in words)
    assert all("(ranks 0 and 1 differ)" in line for line in words)
    assert not (tmp_path / "out" / "metrics.jsonl").exists()


def test_a_rank_whose_judge_answers_nothing_ends_the_run(tmp_path: Path) -> None:
    code, words, _ = ended(tmp_path, f"rewards.0.judge={FAULTS}:Silent")
    assert code != 0
    (line,) = words
    assert "rank 1 got no answer" in line
    assert " of posh in 3 steps in a row" in line
    assert line.endswith("its engine is gone")
    steps = (tmp_path / "out" / "metrics.jsonl").read_text().splitlines()
    assert len(steps) == 2  # the third has ended the run
    # at most half, which max_failed_fraction allows, and less where a completion is empty
    assert all(0 < json.loads(step)["judge/failed_fraction"] <= 0.5 for step in steps)


def test_a_stalled_rank_ends_the_run_in_the_asked_time(tmp_path: Path) -> None:
    code, words, seconds = ended(
        tmp_path, f"rewards.0.judge={FAULTS}:Stalled", f"trainer.ddp_timeout={TIMEOUT}"
    )
    assert code != 0
    sentences = [line for line in words if "waited for another rank" in line]
    (sentence,) = sentences
    told = rf"rank 0 of 2 .* has stalled: .* {TIMEOUT} s \(ddp_timeout\); .* --resume"
    assert re.match(told, sentence)
    assert seconds > TIMEOUT
