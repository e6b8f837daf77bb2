"""`spanreward train`, which says at every moment what it is doing, so that a kill can be aimed and
its place told.

SPANREWARD_KILLS_PHASE=outputs/kills/whole python -m experiments.benchmark.kills_victim train RECIPE

Rank 0 keeps the phase of the moment in whole.phase, and adds each ended phase with its seconds to
whole.phases.
"""

import functools
import json
import os
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

PLACE = "SPANREWARD_KILLS_PHASE"
# else "starting", and "between" two of them
PHASES = ("sampling", "judging", "learning", "saving", "removing")
WIDTH = 16  # bytes of the file of the moment, so that it is overwritten in one call


class Phases:
    """Says which phase this process is in. A phase within a phase ends into the outer one."""

    def __init__(self, place: Path) -> None:
        self.moment = os.open(phase_file(place), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        self.ended = phases_file(place).open("a", buffering=1)
        self.now = "starting"
        self.say(self.now)

    def say(self, phase: str) -> None:
        self.now = phase
        os.pwrite(self.moment, phase.ljust(WIDTH).encode(), 0)

    def within(self, phase: str, owner: Any, name: str) -> None:
        """Replace a function of a class or module by one that says the phase while it runs."""
        inner: Callable[..., Any] = getattr(owner, name)

        @functools.wraps(inner)
        def outer(*given: Any, **named: Any) -> Any:
            before, began = self.now, time.monotonic()
            self.say(phase)
            try:
                return inner(*given, **named)
            finally:
                self.ended.write(
                    json.dumps({"phase": phase, "seconds": time.monotonic() - began}) + "\n"
                )
                self.say("between" if before == "starting" else before)

        setattr(owner, name, outer)


def phase_file(place: Path) -> Path:
    return place.with_name(f"{place.name}.phase")


def phases_file(place: Path) -> Path:
    return place.with_name(f"{place.name}.phases")


def phase_of(place: Path) -> str:
    """The phase that a process is in, or was in when it ended; "starting" before it says one."""
    path = phase_file(place)
    return (path.read_text().strip() if path.exists() else "") or "starting"


def lengths(place: Path) -> dict[str, list[float]]:
    """By phase the seconds of each time that the run was in it."""
    found: dict[str, list[float]] = defaultdict(list)
    for line in phases_file(place).read_text().splitlines():
        found[json.loads(line)["phase"]].append(json.loads(line)["seconds"])
    return dict(found)


def main() -> None:
    from spanreward.training.commands.main import main as train

    if os.environ.get("RANK", "0") == "0":
        from transformers import trainer

        from spanreward.training.run import SpanGRPOTrainer, SupervisedTrainer

        phases = Phases(Path(os.environ[PLACE]))
        phases.within("sampling", SpanGRPOTrainer, "_generate")
        phases.within("judging", SpanGRPOTrainer, "_calculate_rewards")
        for made in (SpanGRPOTrainer, SupervisedTrainer):
            phases.within("learning", made, "training_step")
            phases.within("saving", made, "_save_checkpoint")
        phases.within("removing", trainer, "rotate_checkpoints")
    train()


if __name__ == "__main__":
    main()
