"""Refuses a chat template that needs too much time or memory. A template is a program that comes
with a downloaded model, and jinja2's sandbox limits neither its time nor its memory.

    check_template("outputs/policy", tokenizer.chat_template, tokenizer.special_tokens_map)

A child process with limits on time and memory renders the template with a few short chats. A trial
takes 0.15 s, and a result is cached until the program ends. The chats have the same shapes as the
chats of trainings and judges. A template may behave well for these chats and badly for another
chat, for example only after a certain text. A judge's template is therefore also tried with the
judge's own chats (ChatEncoder._render).
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
MOST_SECONDS = 3  # processor time of the child process; its start takes 0.1 s
MOST_WAITING = 60.0  # seconds on the clock, for a busy machine
MOST_MEMORY = 1 << 29  # bytes of the child's address space; its start takes 25 MB
MOST_WRITTEN = 1 << 20  # characters of one rendered chat
LONGEST_TEMPLATE = 1 << 20  # characters of a template; templates of big models have 30,000

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
# Some chats end in a user's message, like prompts. Other chats end in an answer, like samples of a
# training. The chats of ten messages reveal a template whose work grows too fast with the number of
# messages. The long message reveals the same for the length of a text.
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
    """Raises ValueError if a chat template needs too much time or memory, or writes too much text.

    Args:
        owner: the model's folder or name, for the error message.
        template: the Jinja text, or several Jinja texts by name, which are all tried. Without a
            template (None) nothing is checked.
        tokens: the tokenizer's special tokens, such as {"eos_token": "</s>"}. Templates use these
            names as variables.
        chats: pairs of a chat and the other variables of the template for this chat, such as
            {"add_generation_prompt": True}.
    """
    templates: list[str] = []
    if isinstance(template, str):
        templates.append(template)
    elif template is not None:
        templates += template.values()
    with_tokens = []
    for chat, variables in chats:
        with_tokens.append((chat, {**tokens, **variables}))
    # The chats become JSON text: `template_fault` caches by its arguments, which must be hashable,
    # and its child process reads text. `default=str` is for a special token that is an object
    # (AddedToken): str() gives the text of the token.
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
    """Returns the limit that a template exceeds, such as "writes more than 1,048,576 characters for
    a short chat", or "" for a template within all limits.

    chats: the pairs of `check_template` as JSON. Raises RuntimeError if the child process fails
    before the trial, for example because jinja2 is not installed.
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
    process = _run_trial(trial)
    if process is None:
        return f"does not end within {MOST_WAITING:g} s for a short chat"
    if process.returncode < 0:  # a signal killed the child, because its processor time was used up
        return f"needs more than {MOST_SECONDS} s for a short chat"
    # The child catches all errors of the template. A positive code is therefore an error of the
    # child itself, such as a missing jinja2.
    if process.returncode > 0:
        error_lines = process.stderr.strip().splitlines()
        reason = error_lines[-1] if error_lines else "no reason"
        raise RuntimeError(f"chat templates cannot be tried with {sys.executable}: {reason}")
    fault = process.stdout.strip()
    if fault:
        return f"{fault} for a short chat"
    return ""


def _run_trial(trial: Trial) -> subprocess.CompletedProcess[str] | None:
    """Runs rendering.py with this trial, and returns the finished process with its output. Returns
    None if the process did not end within MOST_WAITING seconds.
    """
    # The child process imports from the same folders as this process. `filter` drops "", which
    # stands for the working directory.
    import_path = os.pathsep.join(filter(None, sys.path))
    environment = {**os.environ, "PYTHONPATH": import_path}
    try:
        return subprocess.run(
            [sys.executable, "-P", str(RENDERING_FILE)],
            input=json.dumps(trial),
            capture_output=True,
            text=True,
            encoding="utf-8",
            env=environment,
            timeout=MOST_WAITING,
        )
    except subprocess.TimeoutExpired:
        return None
