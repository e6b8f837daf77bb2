"""Base of the judges that ask other judges."""

from contextlib import ExitStack
from typing import Any, Self

from spanreward.rewards.judges.judge import Judge, closing


class OuterJudge(Judge):
    """A judge that asks these judges, and is as strict as the strictest of them. A `with` wakes all of them."""

    def __init__(self, *judges: Judge) -> None:
        self.judges = judges
        self.deadline = sum(judge.deadline or 0 for judge in judges) or None
        self.reads_source = any(judge.reads_source for judge in judges)
        self.remote = all(judge.remote for judge in judges)
        self._entered: list[ExitStack] = []  # one for each `with`

    @property
    def judge(self) -> Judge:
        """The first of them."""
        return self.judges[0]

    @property
    def name(self) -> str:
        return ", ".join(judge.name for judge in self.judges)

    def start(self) -> None:
        for judge in self.judges:
            judge.start()

    def close(self) -> None:
        with closing(self.judges):
            pass

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for judge in self.judges:
                stack.enter_context(judge)
            self._entered.append(stack.pop_all())
        return self

    def __exit__(self, *error: Any) -> None:
        self._entered.pop().__exit__(*error)
