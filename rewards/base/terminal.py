r"""The door to a terminal: what rows, judges and servers wrote is shown there, and never obeyed.

Terminal(stderr=True).print("\x1b[2Ja kite")        # \x1b[2Ja kite
leave(f"spanreward: {error}")                       # ends the process with one sentence
"""

import logging
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

# control characters but tabs and line breaks, signs that turn the writing around, separators of
# lines that editors show and terminals do not, and halves of characters, which cannot be written
_OBEYED = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)

INTERRUPTED = 128 + 2  # the exit code of a program that SIGINT ends


class Terminal(Console):
    """A console of rich that shows what a text would do to a terminal. Its own styles stay."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yields the segments of what is printed, with their texts printable."""
        for segment in super().render(renderable, options):
            if segment.control:  # rich's own, such as a moved cursor, and no row's text
                yield segment
            else:
                yield Segment(printable(segment.text), segment.style)


class PrintableFormatter(logging.Formatter):
    """Formats a record as one that a terminal shows as it is."""

    def format(self, record: logging.LogRecord) -> str:
        """Returns the record's line, with its traceback if it has one."""
        return printable(super().format(record))


def printable(text: str) -> str:
    """Returns the text with escapes in place of what a terminal would obey. Line breaks and tabs
    stay.
    """
    return _OBEYED.sub(_escape, text)


def leave(message: str) -> NoReturn:
    """Ends the process with this message and the exit code 1."""
    sys.exit(printable(message))


def leave_interrupted(message: str) -> NoReturn:
    """Ends the process with this message, as Ctrl-C ends a program: with the exit code 130."""
    print(printable(message), file=sys.stderr, flush=True)
    sys.exit(INTERRUPTED)


def guard_logs() -> None:
    """Makes the log printable, unless somebody has set handlers.

    Without a handler Python's logging writes warnings with `lastResort`.
    """
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(PrintableFormatter())


class WarningsAlone(logging.Filter):
    """Lets warnings through, and no exception with its traceback.

    For a command that says of each row that failed why it did: the traceback of a judge that failed
    on it would be said before, and again for each half of its batch.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        return record.exc_info is None


@contextmanager
def warnings_alone() -> Iterator[None]:
    """Leaves tracebacks out of the log meanwhile, unless somebody has set handlers."""
    handler = logging.lastResort
    if handler is None:
        yield
        return
    warnings = WarningsAlone()
    handler.addFilter(warnings)
    try:
        yield
    finally:
        handler.removeFilter(warnings)


def _escape(sign: re.Match[str]) -> str:
    return sign[0].encode("unicode_escape").decode()
