"""Two real ranks of a stock trainer, of which one loses its judge: both stop at the same step."""

import json
import re
from pathlib import Path

from tests.support.on_two_ranks import on_two_ranks
from tests.support.paths import SUPPORT

SCRIPT = SUPPORT / "two_ranks_health.py"


def test_both_ranks_stop_and_rank_0_writes_what_both_have(tmp_path: Path) -> None:
    done = on_two_ranks(str(SCRIPT), str(tmp_path))
    assert done.returncode == 0, done.stderr
    first, second = (json.loads((tmp_path / f"{rank}.json").read_text()) for rank in (0, 1))
    assert first["step"] == second["step"] == 2
    assert first["stopped"] == second["stopped"]
    assert re.match(r"25% of the batch's .*\(limit 20%\)", first["stopped"])
    assert first["stopped"].endswith("its engine is gone")
    assert done.stderr.count("training stops at step 2") == 1
    before, after = (line for line in first["log"] if "health/degenerate_fraction" in line)
    assert (before["failing/failed_fraction"], after["failing/failed_fraction"]) == (0, 0.25)
    # a group of 4 lies on both ranks: 0.25 twice, and 0.75 twice
    assert before["health/zero_variance_groups"] == 0
    health = [{k: v for k, v in line.items() if "health/" in k} for line in first["log"]]
    assert health == [{k: v for k, v in line.items() if "health/" in k} for line in second["log"]]
    pages = [(tmp_path / f"spans/step-00000{n}.html").read_text(encoding="utf-8") for n in (1, 2)]
    for lead in ("+0.25", "\N{MINUS SIGN}0.25"):
        assert pages[0].count(f"above its group <b>{lead}</b>") == 2
    assert "its engine is gone" in pages[1]
