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
        if not (folder / TOKENIZER_FILES[0]).is_file():
            raise FileNotFoundError(
                f"{folder} has no {TOKENIZER_FILES[0]}: save one with transformers' fast tokenizer."
            )
        self.name_or_path = str(folder)
        try:
            self.backend_tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILES[0]))
        except Exception as error:  # the library raises nothing narrower
            raise ValueError(
                f"{folder / TOKENIZER_FILES[0]} cannot be read ({error}): copy or save it anew."
            ) from None
        self.added_tokens_decoder = self.backend_tokenizer.get_added_tokens_decoder()
        self.get_vocab = self.backend_tokenizer.get_vocab
        self.decode = self.backend_tokenizer.decode
        config = folder / TOKENIZER_FILES[1]
        template = folder / TOKENIZER_FILES[2]
        settings: dict[str, Any] = {}
        if config.is_file():
            settings = json.loads(config.read_text("utf-8"))
        # As in transformers, chat_template.jinja has priority over a template in
        # tokenizer_config.json. Older settings have a list of templates with names.
        self.chat_template: str | None = None
        in_settings = settings.get("chat_template")
        if template.is_file():
            self.chat_template = template.read_text("utf-8")
        elif isinstance(in_settings, list):
            templates = {entry["name"]: entry["template"] for entry in in_settings}
            self.chat_template = templates.get("default")
        else:
            self.chat_template = in_settings
        # The settings have `"eos_token": "</s>"`, or an object with the text as "content":
        # `"eos_token": {"content": "</s>", "lstrip": false, ...}`.
        self.special_tokens_map: dict[str, str] = {}
        for name, token in settings.items():
            text = token.get("content") if isinstance(token, dict) else token
            if name.endswith("_token") and isinstance(text, str):
                self.special_tokens_map[name] = text

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
