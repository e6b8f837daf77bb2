r"""Prints texts of rows, judges and servers so that a terminal shows their control characters as
escapes, and never obeys a control character.

Terminal(stderr=True).print("\x1b[2Ja kite")        # \x1b[2Ja kite
exit_with_message(f"spanreward: {error}")           # ends the process with one sentence
"""

import logging
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

# Matches control characters except tabs and line breaks. Also matches characters that reverse the
# direction of writing, line separators that only editors show, and lone surrogates, which UTF-8
# cannot encode.
_TERMINAL_COMMANDS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)

EXIT_CODE_OF_SIGINT = 128 + 2  # the exit code of a program that SIGINT ends


class Terminal(Console):
    """A console of rich that prints control characters of texts as escapes. Rich's own styles
    still work.
    """

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yields the segments of the renderable, with escapes for control characters in texts."""
        for segment in super().render(renderable, options):
            if segment.control:  # made by rich, such as a move of the cursor, and not by a row
                yield segment
            else:
                yield Segment(printable_text(segment.text), segment.style)


class PrintableFormatter(logging.Formatter):
    """Formats log records with escapes in place of control characters."""

    def format(self, record: logging.LogRecord) -> str:
        """Returns the record's text, with the traceback if the record has a traceback."""
        return printable_text(super().format(record))


def printable_text(text: str) -> str:
    r"""Returns the text with escapes in place of characters that a terminal would obey: an escape
    character becomes `\x1b`. Line breaks and tabs stay.
    """
    return _TERMINAL_COMMANDS.sub(_escaped_sign, text)


def exit_with_message(message: str) -> NoReturn:
    """Ends the process with this message and the exit code 1."""
    sys.exit(printable_text(message))


def leave_interrupted(message: str) -> NoReturn:
    """Ends the process with this message and the exit code 130, the code of a program that Ctrl-C
    ends.
    """
    print(printable_text(message), file=sys.stderr, flush=True)
    sys.exit(EXIT_CODE_OF_SIGINT)


def guard_logs() -> None:
    """Makes the log escape control characters, unless the program has set handlers of its own.

    Python's logging writes warnings with the handler `lastResort` if no handler is set.
    """
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(PrintableFormatter())


class WarningsAlone(logging.Filter):
    """Lets log records without a traceback through, and drops records with a traceback.

    This is for commands that print a reason for each failed row themselves. Without the filter, the
    judge's traceback would be logged too, and again for each half of the batch that is asked again.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        return record.exc_info is None


@contextmanager
def warnings_alone() -> Iterator[None]:
    """Drops log records with tracebacks inside the `with`, unless the program has set handlers of
    its own.

    Python's logging uses the handler `lastResort` only if the program has set no handler. So this
    filter on `lastResort` changes nothing for a program with handlers.
    """
    handler = logging.lastResort
    if handler is None:  # a program may remove the handler
        yield
        return
    without_tracebacks = WarningsAlone()
    handler.addFilter(without_tracebacks)
    try:
        yield
    finally:
        handler.removeFilter(without_tracebacks)


def _escaped_sign(sign: re.Match[str]) -> str:
    return sign[0].encode("unicode_escape").decode()
