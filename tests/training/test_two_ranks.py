"""Two real ranks, of which one loses its judge: both end together with one sentence."""

import json
import re
from pathlib import Path

from tests.support.dapo_run import RECIPE, SHRUNK
from tests.support.on_two_ranks import on_two_ranks
from tests.support.paths import SUPPORT

SCRIPT = SUPPORT / "two_ranks_training.py"
OVERRIDES = (
    *(*SHRUNK, "data.count=16", "trainer.max_steps=3", "trainer.num_iterations=1"),
    *("trainer.steps_per_generation=1", "trainer.max_failed_fraction=0.25"),
)


def test_a_judge_lost_on_one_rank_stops_both_with_one_sentence(tmp_path: Path) -> None:
    output = f"output={tmp_path / 'out'}"
    done = on_two_ranks(str(SCRIPT), str(tmp_path), RECIPE, output, *OVERRIDES)
    assert done.returncode != 0
    first, second = (json.loads((tmp_path / f"{rank}.json").read_text()) for rank in (0, 1))
    assert (first["kind"], second["kind"]) == ("JudgeFailure", "JudgeFailure"), done.stderr
    assert first["error"] == second["error"]
    told = r"50% of .*\(max_failed_fraction is 25%\); .* rank 1: .*OSError: its engine is gone"
    assert re.fullmatch(told, first["error"])
    assert done.stderr.count("could not be judged") == 1
    assert f"train.py: training stopped: {first['error']}\n" in done.stderr
    assert sorted(path.name for path in tmp_path.glob("*.closed")) == ["0.closed", "1.closed"]

    # the first step went well: sums and maxima over the ranks
    (step,), (other,) = first["log"], second["log"]
    counts = {name: value for name, value in step.items() if name.startswith("judge/")}
    assert counts == {name: value for name, value in other.items() if name.startswith("judge/")}
    assert len(counts) == 11  # no question timed out, and no answer was unparsed
    assert not counts.keys() & {"judge/timeout", "judge/unparsed"}
    assert (counts["judge/failed_fraction"], counts["judge/retries"]) == (0, 3)
    assert (counts["judge/wake_seconds"], counts["judge/peak_memory_gb"]) == (20, 2)
