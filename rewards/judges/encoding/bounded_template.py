"""Whether a chat template ends, in little time and memory. It comes from a stranger, and jinja2's
sandbox bounds neither.

    check_template("outputs/policy", tokenizer.chat_template, tokenizer.special_tokens_map)

The template writes a few short chats in a process of its own, which has limits. That takes .15 s,
once for a template in a process. The chats have the shapes that trainings and judges have. A
template that waits for another one (a certain text, say) is not found by them; a judge's is
therefore tried with each of its own chats too.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from spanreward.rewards.judges.encoding.rendering import Chat, Trial

RENDERING_FILE = Path(__file__).with_name("rendering.py")
MOST_SECONDS = 3  # of the processor; the start takes .1 of them
MOST_WAITING = 60.0  # seconds, on a machine that is busy
MOST_MEMORY = 1 << 29  # bytes of addresses; the start takes 25 MB of them
MOST_WRITTEN = 1 << 20  # characters of a chat as text
LONGEST_TEMPLATE = 1 << 20  # characters of a template; those of big models have 30,000

USER_TURN = {"role": "user", "content": "What is it?"}
ANSWER_TURN = {"role": "assistant", "content": "A red star."}
SYSTEM_TURN = {"role": "system", "content": "You look closely."}
LONG_TURN = {"role": "user", "content": "What is it? " * 400}
PICTURE_TURN = {
    "role": "user",
    "content": [
        {"type": "image"},
        {"type": "text", "text": "What is it?"},
    ],
}
BLOCKS_TURN = {
    "role": "assistant",
    "content": [{"type": "text", "text": "A red star."}],
}
TOOL_SCHEMA = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Looks.",
        "parameters": {
            "type": "object",
            "properties": {"where": {"type": "string"}},
        },
    },
}
PROMPT_OPTIONS = {"add_generation_prompt": True, "enable_thinking": False}
# Chats that end in a user's message, as prompts do, and chats that end in an answer, as samples of
# a training do. Those of ten messages and the long one show a loop that grows with them.
TRIAL_CHATS: tuple[tuple[Chat, Mapping[str, Any]], ...] = (
    ([USER_TURN], PROMPT_OPTIONS),
    ([SYSTEM_TURN, LONG_TURN], PROMPT_OPTIONS),
    ([USER_TURN, ANSWER_TURN] * 5, {"add_generation_prompt": False}),
    ([SYSTEM_TURN, *[USER_TURN, ANSWER_TURN] * 5, USER_TURN], PROMPT_OPTIONS),
    ([PICTURE_TURN], PROMPT_OPTIONS),
    ([PICTURE_TURN, BLOCKS_TURN], {"add_generation_prompt": False}),
    ([USER_TURN], {**PROMPT_OPTIONS, "tools": [TOOL_SCHEMA]}),
)


def check_template(
    owner: str,
    template: str | Mapping[str, str] | None,
    tokens: Mapping[str, Any],
    chats: Sequence[tuple[Chat, Mapping[str, Any]]] = TRIAL_CHATS,
) -> None:
    """Raises ValueError for a template that takes too much.

    Args:
        owner: whose template it is, such as a folder.
        template: several by name are all tried, and none is right.
        tokens: the tokenizer's special tokens by name, which templates write.
        chats: with the variables of each.
    """
    templates: list[str] = []
    if isinstance(template, str):
        templates.append(template)
    elif template is not None:
        templates += template.values()
    with_tokens = []
    for chat, variables in chats:
        with_tokens.append((chat, {**tokens, **variables}))
    # As text, because that is hashed in the cache of `template_fault` and read by its process. A
    # special token may be an object (AddedToken), whose text is what templates write.
    encoded = json.dumps(with_tokens, default=str)
    for text in templates:
        fault = template_fault(text, encoded)
        if fault:
            raise ValueError(
                f"the chat template of {owner} {fault}: put another chat_template.jinja there, or "
                "take another model."
            )


@lru_cache(maxsize=256)
def template_fault(template: str, chats: str) -> str:
    """Returns what is too much, such as "writes more than 1,048,576 characters for a short chat",
    or "".

    chats: as JSON. Raises RuntimeError where no template can be tried.
    """
    if len(template) > LONGEST_TEMPLATE:
        return f"has more than {LONGEST_TEMPLATE:,} characters"
    trial: Trial = {
        "template": template,
        "chats": json.loads(chats),
        "seconds": MOST_SECONDS,
        "memory": MOST_MEMORY,
        "characters": MOST_WRITTEN,
    }
    # What is imported here can be imported there. Without "", which is the working directory.
    import_path = os.pathsep.join(filter(None, sys.path))
    environment = {**os.environ, "PYTHONPATH": import_path}
    try:
        process = subprocess.run(
            [sys.executable, "-P", str(RENDERING_FILE)],
            input=json.dumps(trial),
            capture_output=True,
            text=True,
            encoding="utf-8",
            env=environment,
            timeout=MOST_WAITING,
        )
    except subprocess.TimeoutExpired:
        return f"does not end within {MOST_WAITING:g} s for a short chat"
    if process.returncode < 0:  # the system ended it
        return f"needs more than {MOST_SECONDS} s for a short chat"
    # The program catches what a template raises, so this is Python's error: no jinja2, say.
    if process.returncode > 0:
        error_lines = process.stderr.strip().splitlines()
        reason = error_lines[-1] if error_lines else "no reason"
        raise RuntimeError(f"chat templates cannot be tried with {sys.executable}: {reason}")
    fault = process.stdout.strip()
    if fault:
        return f"{fault} for a short chat"
    return ""
