"""The connections of the service, and its end.

    server = RewardServer(configured(service.application))
    server.run(sockets=[listening])
    server.leave()

A connection that says nothing, or only a part of a header, is closed after HEADER_SECONDS, and
earlier where its place is needed: enough of them would shut the others out. SIGTERM ends the
service once what it accepted is answered, Ctrl-C waits at most CTRL_C_SECONDS for that, and a
second signal waits for nothing.
"""

import asyncio
import os
import signal
import sys
import threading
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS = 1024
HEADER_SECONDS = 10.0  # seconds until a header must be complete
CTRL_C_SECONDS = 10.0  # seconds
CLOSING_SECONDS = 10.0  # seconds that judges may take to close after a second signal


class Connection(H11Protocol):
    """A connection that must bring a request in time. asyncio and uvicorn call `connection_made`,
    `on_response_complete` and `connection_lost`.
    """

    _timer: asyncio.TimerHandle | None = None
    _since = 0.0  # when it began to wait, by the loop's clock

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()
        # uvicorn itself would refuse the request that comes next
        if len(self.connections) >= MOST_CONNECTIONS:
            self._make_room()

    def _make_room(self) -> None:
        """Closes the connection that has waited longest for a request, if there is one."""
        idle = []
        for other in self.connections:
            if isinstance(other, Connection) and other.is_idle and other is not self:
                idle.append(other)
        if idle:
            longest = min(idle, key=Connection.since)
            longest.transport.close()
            self.connections.discard(longest)  # uvloop tells of the end later

    @property
    def is_idle(self) -> bool:
        """Whether it is open, and no request of it is being read or answered."""
        answered = self.cycle is None or self.cycle.response_complete
        return answered and not self.transport.is_closing()

    def since(self) -> float:
        """Returns when it began to wait for a request, by the loop's clock."""
        return self._since

    def on_response_complete(self) -> None:
        super().on_response_complete()
        # for the next request of a connection that is kept alive
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        # the timer would keep the connection in memory
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def _wait(self) -> None:
        """Gives the next request HEADER_SECONDS to come."""
        if self._timer is not None:
            self._timer.cancel()
        self._since = self.loop.time()
        self._timer = self.loop.call_later(HEADER_SECONDS, self._close_idle)

    def _close_idle(self) -> None:
        """Closes the connection, unless a request has come in time."""
        if self.is_idle:
            self.transport.close()


class RewardServer(uvicorn.Server):
    """A server that a second signal ends at once, whatever is judged."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        again = self.should_exit  # which uvicorn sets at the first signal
        super().handle_exit(sig, frame)
        if again:
            self.force()
        elif sig == signal.SIGINT:
            after(CTRL_C_SECONDS, self.force)

    def force(self) -> None:
        """Lets `run` return without an answer to what is judged."""
        self.force_exit = True
        # `serve` leaves once the judges are closed; this is for judges that do not close
        after(CLOSING_SECONDS, self.leave)

    def leave(self) -> None:
        """Ends the process where it was forced: a row is judged in a thread, for whose end Python
        waits. Judges should be closed before.
        """
        if self.force_exit:
            # `os._exit` writes nothing that is buffered
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(128 + self._captured_signals[-1])


def after(seconds: float, act: Any) -> None:
    """Calls `act` in a thread, for which the end of the process does not wait."""
    timer = threading.Timer(seconds, act)
    timer.daemon = True
    timer.start()


def configured(application: Any) -> uvicorn.Config:
    """Returns uvicorn's settings for the application, with the connections of this file."""
    return uvicorn.Config(
        application,
        http=Connection,
        ws="none",
        log_level="warning",
        lifespan="off",
        limit_concurrency=MOST_CONNECTIONS,
    )
