"""Rounds of messages between all ranks: each rank sends rank 0 a message, and rank 0 sends each a reply.

    rounds = RankExchange(timeout=1800.0)         # on every rank
    reply = rounds.exchange(message, serve)       # rank 0 calls serve(messages of all ranks), which returns the replies
    rounds.close()

Rounds use their own gloo group, apart from the training's collectives. Every RankExchange makes a new group (30 ms for
two ranks), because a group cannot be used again after a rank was late.
"""

import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import torch.distributed as dist

from spanreward.rewards.judges.judge import Failure
from spanreward.rewards.verdict import Status


class RankExchange:
    """timeout: seconds that a rank waits for the others in one round.

    trouble: a Failure (TIMEOUT or ERROR) that says why there are no more rounds; None if nothing failed.
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

    def exchange(self, message: Any, serve: Callable[[Sequence[Any]], Sequence[Any]]) -> Any:
        """Returns this rank's reply, or None once there is `trouble`. `serve` must not raise.

        Raises what pickling the message raises, before the round begins.
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
        except (KeyboardInterrupt, SystemExit) as error:  # the rest of this round must not count as the next
            self._end(start, error)
            raise
        return reply[0]

    def close(self) -> None:
        """Leaves the group. Ranks that still wait for this one fail."""
        if self._group is not None:
            dist.destroy_process_group(self._group)
            self._group = None

    def _end(self, start: float, error: BaseException) -> None:
        late = time.monotonic() - start >= self.timeout
        self.close()
        self.trouble = Failure(
            Status.TIMEOUT if late else Status.ERROR,
            f"rank {dist.get_rank()} lost the round in which all ranks ask the judge on rank 0 (after "
            f"{time.monotonic() - start:.0f} s; the timeout is {self.timeout:g} s): a rank came too late, ended, or "
            f"never entered the judge: {error}",
        )
