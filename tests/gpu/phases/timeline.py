"""Says how long each phase of a run took, the moment it ends, and keeps the seconds in a file.

timeline = Timeline("whole step", Path("whole.json"))
with timeline("judge: import of vLLM"):
    import vllm  # [whole step +  31.2 s] judge: import of vLLM: 31.2 s
timeline.watch(VllmJudge, "_wake", "judge: wake")   # each call from now on timeline.add(VllmJudge,
"_run", "engine")           # only summed: `timeline.sums` has seconds and calls
"""

import functools
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch


class Timeline:
    """Attributes: seconds: of each phase's calls, in order. sums: [seconds, calls] of what is only
    summed.
    """

    def __init__(self, run: str, path: Path) -> None:
        self.run, self.path = run, path
        self.began = time.monotonic()
        self.seconds: dict[str, list[float]] = {}
        self.sums: dict[str, list[float]] = {}
        self.figures: dict[str, Any] = {}

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        began = now()
        try:
            yield
        finally:
            taken = now() - began
            self.seconds.setdefault(phase, []).append(round(taken, 3))
            self.say(f"{phase}: {taken:.2f} s")

    def say(self, text: str) -> None:
        print(f"[{self.run} +{time.monotonic() - self.began:6.1f} s] {text}", flush=True)
        self.write()

    def figure(self, name: str, value: Any) -> None:
        self.figures[name] = value
        self.say(f"{name}: {json.dumps(value)}")

    def watch(self, owner: Any, method: str, phase: str) -> None:
        """Makes each call of owner's method a phase."""
        inner = getattr(owner, method)

        @functools.wraps(inner)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self(phase):
                return inner(*args, **kwargs)

        setattr(owner, method, call)

    def add(self, owner: Any, method: str, name: str) -> None:
        """Sums the seconds of all calls of owner's method in `sums`, and says nothing of each."""
        inner = getattr(owner, method)

        @functools.wraps(inner)
        def call(*args: Any, **kwargs: Any) -> Any:
            began = now()
            try:
                return inner(*args, **kwargs)
            finally:
                total = self.sums.setdefault(name, [0.0, 0])
                total[0] += now() - began
                total[1] += 1

        setattr(owner, method, call)

    def take_sums(self) -> dict[str, list[float]]:
        """Returns the sums so far, and begins anew."""
        found, self.sums = (
            {name: [round(seconds, 3), calls] for name, (seconds, calls) in self.sums.items()},
            {},
        )
        return found

    def write(self) -> None:
        """Writes what is known into the file, which keeps what other runs found."""
        known = json.loads(self.path.read_text()) if self.path.exists() else {}
        known[self.run] = {"seconds": self.seconds, **self.figures}
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps(known, indent=2) + "\n")
        part.replace(self.path)


def now() -> float:
    """The monotonic clock, once what was queued on the GPU is done."""
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
    return time.monotonic()
