"""Renders chat templates, in the sandbox that transformers uses.

    template = compiled_template("{{ bos_token }}{{ messages[0].content }}")
    render_chat(template, [{"role": "user", "content": "Rate it: ..."}], {"bos_token": "<s>"})

bounded_template.py runs this file as a program, with nothing but jinja2, to see whether a template
ends: it gets a Trial on standard input and writes what is wrong with the template, or nothing.
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
    """A template, with the chats that it is to write and the variables of each.

    Attributes:
        template: its Jinja text.
        chats: each with its variables.
        seconds: of the processor, for all of them.
        memory: bytes of addresses.
        characters: of one written chat, at most.
    """

    template: str
    chats: Sequence[tuple[Chat, Mapping[str, Any]]]
    seconds: int
    memory: int
    characters: int


class Generation(Extension):
    """`{% generation %}`, by which templates mark what the assistant says, shows what is in it."""

    tags = {"generation"}  # noqa: RUF012  # as jinja2 declares it

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)  # the tag itself
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def compiled_template(template: str) -> Template:
    """Returns the template, ready to be rendered, with the settings and names that transformers has
    for chat templates.

    Raises jinja2's TemplateError for what is no template, RecursionError for what is nested too
    deeply.
    """
    settings: dict[str, Any] = {"trim_blocks": True, "lstrip_blocks": True}
    room = ImmutableSandboxedEnvironment(extensions=[Generation, loopcontrols], **settings)
    # jinja2's own `tojson` writes "\u003c" for "<", as HTML needs it
    room.filters["tojson"] = partial(json.dumps, ensure_ascii=False)
    room.globals |= {"raise_exception": refuse_chat, "strftime_now": time_now}
    return room.from_string(template)


def render_chat(template: Template, chat: Chat, variables: Mapping[str, Any]) -> str:
    """Returns the chat as text. Raises jinja2's TemplateError for what the template refuses, and
    whatever else its expressions raise.
    """
    options = {"tools": None, "documents": None, **variables}  # None, as transformers gives them
    return template.render(messages=chat, **options)


def refuse_chat(message: str) -> None:
    raise TemplateError(message)


def time_now(form: str) -> str:
    return datetime.now().strftime(form)


def trial_fault(trial: Trial) -> str:
    """Returns what is too much in the template or in one of the chats, or "".

    An error of another kind is no fault here: a template may refuse a chat.
    """
    try:
        template = compiled_template(trial["template"])
    except Exception as error:  # a stranger's template may raise anything
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
    """Returns what an error says that a template takes too much of, or "" for another error."""
    if isinstance(error, RecursionError):
        return "calls itself, or nests, too deeply"
    if isinstance(error, MemoryError):
        return "needs too much memory"
    if isinstance(error, OverflowError):  # also of the sandbox, for a range
        return "counts too far"
    return ""


def limit_process(seconds: int, memory: int) -> None:
    """Lets this process use so many seconds of the processor and so many bytes."""
    if sys.platform != "win32":  # which has no such limits: there only the parent's patience ends
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def main() -> None:
    trial: Trial = json.load(sys.stdin)
    limit_process(trial["seconds"], trial["memory"])
    print(trial_fault(trial))


if __name__ == "__main__":
    main()
