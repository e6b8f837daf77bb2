"""Reads a model's tokenizer and chat template from the model's files, without transformers.

tokenizer = TokenizerFiles(folder)  # tokenizer.json, tokenizer_config.json, chat_template.jinja
ChatEncoder(tokenizer).encode([{"role": "user", "content": "Rate from 1 to 5: ..."}])
"""

import json
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from spanreward.rewards.judges.encoding.rendering import compiled_template, render_chat

TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja")


class TokenizerFiles:
    """A tokenizer for ChatEncoder. The class has only the attributes and methods that ChatEncoder
    uses, under the names of transformers.

    Args:
        folder: the folder of the model's files. tokenizer.json must exist; the other two
            TOKENIZER_FILES are optional.

    Raises:
        FileNotFoundError: if the folder has no tokenizer.json.
        ValueError: if tokenizer.json cannot be read.
    """

    is_fast = True

    def __init__(self, folder: Path) -> None:
        tokenizer_file, config_file, template_file = (folder / name for name in TOKENIZER_FILES)
        self.name_or_path = str(folder)
        self.backend_tokenizer = _read_tokenizer(tokenizer_file)
        self.added_tokens_decoder = self.backend_tokenizer.get_added_tokens_decoder()
        self.get_vocab = self.backend_tokenizer.get_vocab
        self.decode = self.backend_tokenizer.decode
        settings: dict[str, Any] = {}
        if config_file.is_file():
            settings = json.loads(config_file.read_text("utf-8"))
        # As in transformers, chat_template.jinja has priority over a template in
        # tokenizer_config.json.
        self.chat_template: str | None
        if template_file.is_file():
            self.chat_template = template_file.read_text("utf-8")
        else:
            self.chat_template = _template_in_settings(settings)
        self.special_tokens_map = _special_tokens(settings)

    def apply_chat_template(
        self,
        chat: list[dict[str, Any]],
        tokenize: bool = False,
        **options: Any,
    ) -> str:
        """Returns the chat as text.

        tokenize: ignored; transformers has this argument too. options: variables of the template,
        such as add_generation_prompt. Raises jinja2's TemplateError for a chat that the template
        refuses.
        """
        variables = {**self.special_tokens_map, **options}
        return render_chat(compiled_template(self.chat_template or ""), chat, variables)


def _read_tokenizer(file: Path) -> Tokenizer:
    """Returns the tokenizer of a file tokenizer.json. Raises FileNotFoundError without this file,
    and ValueError if it cannot be read.
    """
    if not file.is_file():
        raise FileNotFoundError(
            f"{file.parent} has no {file.name}: save one with transformers' fast tokenizer."
        )
    try:
        return Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises nothing narrower
        raise ValueError(f"{file} cannot be read ({error}): copy or save it anew.") from None


def _template_in_settings(settings: dict[str, Any]) -> str | None:
    """Returns the chat template in the settings of tokenizer_config.json, None without a template.

    Older settings have a list of templates with names: `[{"name": "default", "template": ...}]`.
    """
    template = settings.get("chat_template")
    if isinstance(template, list):
        templates = {entry["name"]: entry["template"] for entry in template}
        return templates.get("default")
    return template


def _special_tokens(settings: dict[str, Any]) -> dict[str, str]:
    """Returns the texts of the special tokens in the settings, such as {"eos_token": "</s>"}.

    The settings have `"eos_token": "</s>"`, or an object with the text as "content": `"eos_token":
    {"content": "</s>", "lstrip": false, ...}`.
    """
    tokens = {}
    for name, token in settings.items():
        text = token.get("content") if isinstance(token, dict) else token
        if name.endswith("_token") and isinstance(text, str):
            tokens[name] = text
    return tokens
