"""Rounds in lockstep between ranks: each hands rank 0 a message, rank 0 hands each a reply.

    rounds = Rounds(timeout=1800.0)                       # on every rank at the same place
    reply = rounds.exchange(message, serve)               # serve(all ranks' messages) -> a reply each, called on rank 0
    rounds.close()

They go over a gloo group of their own, beside the training's collectives. The group is made anew for each use (30 ms
for two ranks): after a round in which a rank was late, that group is given up, and the next use makes a new one.
"""

import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import torch.distributed as dist

from rewards.judges.judge import Failure
from rewards.verdict import Status

Serve = Callable[[Sequence[Any]], Sequence[Any]]


class Rounds:
    """timeout: seconds that a rank waits for the others, in one round.

    trouble: why there are no more rounds, a Failure of status TIMEOUT or ERROR; None while all is well.
    """

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self.trouble: Failure | None = None
        self._group: Any = None
        start = time.monotonic()
        try:
            self._group = dist.new_group(backend="gloo", timeout=timedelta(seconds=timeout))
        except RuntimeError as error:
            self._end(start, error)

    def exchange(self, message: Any, serve: Serve) -> Any:
        """This rank's reply, or None once there is `trouble`. `serve` must not raise. Raises what pickling the message
        does, before the round has begun.
        """
        if self.trouble is not None:
            return None
        start = time.monotonic()
        first = dist.get_rank() == 0
        messages: list[Any] | None = [None] * dist.get_world_size() if first else None
        reply: list[Any] = [None]
        try:
            dist.gather_object(message, messages, group=self._group, group_dst=0)
            replies = None if messages is None else list(serve(messages))
            dist.scatter_object_list(reply, replies, group=self._group, group_src=0)
        except RuntimeError as error:
            self._end(start, error)
        except (KeyboardInterrupt, SystemExit) as error:  # what is left of this round must not be taken for the next
            self._end(start, error)
            raise
        return reply[0]

    def close(self) -> None:
        """Leave the group; ranks that still wait for this one fail."""
        if self._group is not None:
            dist.destroy_process_group(self._group)
            self._group = None

    def _end(self, start: float, error: BaseException) -> None:
        """After a failed round, which began at `start`."""
        late = time.monotonic() - start >= self.timeout
        self.close()
        self.trouble = Failure(
            Status.TIMEOUT if late else Status.ERROR,
            f"rank {dist.get_rank()} lost the round in which all ranks ask the judge on rank 0 (after "
            f"{time.monotonic() - start:.0f} s; the timeout is {self.timeout:g} s): a rank came too late, ended, or "
            f"never entered the judge: {error}",
        )
