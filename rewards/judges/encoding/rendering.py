"""Renders chat templates, in the sandbox that transformers uses.

    template = compiled_template("{{ bos_token }}{{ messages[0].content }}")
    render_chat(template, [{"role": "user", "content": "Rate it: ..."}], {"bos_token": "<s>"})

bounded_template.py also runs this file as a program, to try whether a template stays within limits
of time and memory. The program reads a Trial as JSON from standard input. The program prints the
limit that the template exceeds, such as "needs too much memory", or an empty line. This file
imports only jinja2 and the standard library, so that the program starts fast.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, TypedDict

from jinja2 import Template, TemplateError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

Chat = Sequence[Mapping[str, Any]]


class Trial(TypedDict):
    """A template, the chats to render with it, and the limits.

    Attributes:
        template: the Jinja text.
        chats: pairs of a chat and the other variables of the template for this chat.
        seconds: the most processor time, for all chats together.
        memory: the most bytes of address space.
        characters: the most characters of one rendered chat.
    """

    template: str
    chats: Sequence[tuple[Chat, Mapping[str, Any]]]
    seconds: int
    memory: int
    characters: int


class Generation(Extension):
    """The block `{% generation %}`, with which templates mark the assistant's text. The rendered
    chat has the text within the block.
    """

    tags = {"generation"}  # noqa: RUF012  # jinja2 declares `tags` as a set too

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)  # skips the tag
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def compiled_template(template: str) -> Template:
    """Returns a template for `render_chat`, with the settings, filters and functions that
    transformers gives to chat templates.

    Raises jinja2's TemplateError for a text that is no Jinja template, and RecursionError for
    blocks or expressions that are nested too deeply.
    """
    settings: dict[str, Any] = {"trim_blocks": True, "lstrip_blocks": True}
    sandbox = ImmutableSandboxedEnvironment(extensions=[Generation, loopcontrols], **settings)
    # The `tojson` of jinja2 would write "\u003c" for "<", because it is meant for HTML.
    sandbox.filters["tojson"] = partial(json.dumps, ensure_ascii=False)
    sandbox.globals |= {"raise_exception": refuse_chat, "strftime_now": time_now}
    return sandbox.from_string(template)


def render_chat(template: Template, chat: Chat, variables: Mapping[str, Any]) -> str:
    """Returns the chat as text.

    variables: the other variables of the template, such as {"add_generation_prompt": True}. Raises
    jinja2's TemplateError for a chat that the template refuses. An expression of the template may
    raise any other error.
    """
    options = {"tools": None, "documents": None, **variables}  # transformers gives None too
    return template.render(messages=chat, **options)


def refuse_chat(message: str) -> None:
    """Raises TemplateError. Templates call this function as `raise_exception`."""
    raise TemplateError(message)


def time_now(form: str) -> str:
    """Returns the time now, in a format of strftime. Templates call this function as
    `strftime_now`.
    """
    return datetime.now().strftime(form)


def trial_fault(trial: Trial) -> str:
    """Returns the limit that the template exceeds, such as "writes more than 1,048,576 characters",
    or "".

    Other errors of the template count as no fault, because a template may refuse a chat.
    """
    try:
        template = compiled_template(trial["template"])
    except Exception as error:  # a downloaded template may raise any error
        return excess_in(error)
    for chat, variables in trial["chats"]:
        try:
            length = len(render_chat(template, chat, variables))
        except Exception as error:
            fault = excess_in(error)
            if fault:
                return fault
        else:
            if length > trial["characters"]:
                return f"writes more than {trial['characters']:,} characters"
    return ""


def excess_in(error: Exception) -> str:
    """Returns the limit that an error stands for, such as "needs too much memory" for MemoryError,
    or "" for an error that is not about a limit.
    """
    if isinstance(error, RecursionError):
        return "calls itself, or nests, too deeply"
    if isinstance(error, MemoryError):
        return "needs too much memory"
    if isinstance(error, OverflowError):  # the sandbox raises it too, for a `range` that is too big
        return "counts too far"
    return ""


def limit_process(seconds: int, memory: int) -> None:
    """Limits this process to `seconds` of processor time and `memory` bytes of address space."""
    if sys.platform != "win32":  # Windows lacks these limits: only the parent's timeout holds there
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def main() -> None:
    trial: Trial = json.load(sys.stdin)
    limit_process(trial["seconds"], trial["memory"])
    print(trial_fault(trial))


if __name__ == "__main__":
    main()
