"""Runs the connections of the service, and ends the service on a signal.

    server = RewardServer(uvicorn_settings(service.application))
    server.run(sockets=[listening])
    server.leave()

A connection without a complete request header is closed after HEADER_SECONDS. If all places are
taken, the connection that has waited longest is closed earlier. Otherwise clients that send nothing
could take all places and shut other clients out. SIGTERM ends the service after all accepted
requests are answered. Ctrl-C waits at most CTRL_C_SECONDS for these answers, and a second signal
waits for nothing.
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
HEADER_SECONDS = 10.0  # in which a request's header must be complete
CTRL_C_SECONDS = 10.0  # that Ctrl-C waits for answers
CLOSING_SECONDS = 10.0  # that judges may take to close after a second signal


class Connection(H11Protocol):
    """A connection that is closed if no request arrives in time.

    asyncio and uvicorn call `connection_made`, `on_response_complete` and `connection_lost`.
    """

    _timer: asyncio.TimerHandle | None = None
    _waiting_since = 0.0  # when the connection began to wait, by the loop's clock

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Starts the timer of a new connection, and closes an idle connection if all places are
        taken.
        """
        super().connection_made(transport)
        self._start_timer()
        # with so many connections uvicorn would refuse the next request
        if len(self.connections) >= MOST_CONNECTIONS:
            self._close_longest_idle()

    def _close_longest_idle(self) -> None:
        """Closes the idle connection that has waited longest for a request, if any connection is
        idle.
        """
        idle = []
        for other in self.connections:
            if isinstance(other, Connection) and other.is_idle and other is not self:
                idle.append(other)
        if idle:
            longest = min(idle, key=Connection.waiting_since)
            longest.transport.close()
            self.connections.discard(longest)  # uvloop would discard it only later

    @property
    def is_idle(self) -> bool:
        """Whether the connection is open, and none of its requests is being read or answered."""
        answered = self.cycle is None or self.cycle.response_complete
        return answered and not self.transport.is_closing()

    def waiting_since(self) -> float:
        """Returns the time when the connection began to wait for a request, by the loop's clock."""
        return self._waiting_since

    def on_response_complete(self) -> None:
        """Starts the timer for the next request of a connection that is kept alive."""
        super().on_response_complete()
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stops the timer of a closed connection, because the timer would keep the connection in
        memory.
        """
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def _start_timer(self) -> None:
        """Starts a timer that closes the connection unless a request arrives within
        HEADER_SECONDS.
        """
        if self._timer is not None:
            self._timer.cancel()
        self._waiting_since = self.loop.time()
        self._timer = self.loop.call_later(HEADER_SECONDS, self._close_idle)

    def _close_idle(self) -> None:
        """Closes the connection if no request has arrived in time."""
        if self.is_idle:
            self.transport.close()


class RewardServer(uvicorn.Server):
    """A server that a second signal ends at once, even while rows are judged."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Handles SIGTERM or Ctrl-C (SIGINT): the first signal asks uvicorn to stop, and a second
        signal forces the end.

        After Ctrl-C, the end is also forced when CTRL_C_SECONDS have passed.
        """
        again = self.should_exit  # which uvicorn sets at the first signal
        super().handle_exit(sig, frame)
        if again:
            self.force()
        elif sig == signal.SIGINT:
            call_after(CTRL_C_SECONDS, self.force)

    def force(self) -> None:
        """Makes `run` return without waiting for the rows that are being judged."""
        self.force_exit = True
        # `spanreward serve` calls `leave` when the judges are closed; the timer is for judges that
        # do not close
        call_after(CLOSING_SECONDS, self.leave)

    def leave(self) -> None:
        """Ends the process if `force` was called, and otherwise does nothing.

        Rows are judged in a thread, and at its own end Python would wait for this thread. Judges
        should be closed before.
        """
        if self.force_exit:
            # `os._exit` drops buffered output
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(128 + self._captured_signals[-1])


def call_after(seconds: float, function: Any) -> None:
    """Calls `function` after some seconds, in a thread that does not keep the process running."""
    timer = threading.Timer(seconds, function)
    timer.daemon = True
    timer.start()


def uvicorn_settings(application: Any) -> uvicorn.Config:
    """Returns uvicorn's settings for the application, with `Connection` as the kind of
    connection.
    """
    return uvicorn.Config(
        application,
        http=Connection,
        ws="none",
        log_level="warning",
        lifespan="off",
        limit_concurrency=MOST_CONNECTIONS,
    )
