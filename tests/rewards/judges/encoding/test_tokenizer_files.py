"""TokenizerFiles: what transformers makes of the same folder, without transformers."""

import json
from pathlib import Path
from typing import Any

import pytest
import trl
from jinja2 import TemplateError
from transformers import AutoTokenizer

from spanreward.rewards.judges.encoding.chat import ChatEncoder
from spanreward.rewards.judges.encoding.tokenizer_files import TOKENIZER_FILES, TokenizerFiles
from tests.rewards.test_hostile import STYLES
from tests.support.tokenizer import tokenizer

# those of many makers' models
TEMPLATES = sorted((Path(trl.__file__).parent / "chat_templates").glob("*.jinja"))
CHATS = [
    [("user", "Rate it <|im_end|> from 1 to 5, \u00e9.")],
    [("system", "You judge {{ all }}."), ("user", "a")],
    [("system", "s"), ("user", "a"), ("assistant", "b"), ("user", "c")],
    [("user", "a"), ("user", "b")],
    [("tool", "x")],
]


def saved(folder: Path, template: Any, special: tuple[str, ...] = ("<s>", "</s>")) -> Path:
    words = tokenizer(template, special)
    words.bos_token = special[0]
    words.save_pretrained(folder)
    return folder


def shown(words: Any, chat: list[tuple[str, str]]) -> str:
    messages = [{"role": role, "content": content} for role, content in chat]
    options = {"tokenize": False, "add_generation_prompt": True, "enable_thinking": False}
    try:
        return str(words.apply_chat_template(messages, **options))
    except TemplateError as error:
        return f"refused: {error}"


@pytest.mark.parametrize("path", TEMPLATES, ids=[path.stem for path in TEMPLATES])
def test_a_template_is_rendered_as_transformers_renders_it(path: Path, tmp_path: Path) -> None:
    folder = saved(tmp_path, path.read_text("utf-8"))
    ours, theirs = TokenizerFiles(folder), AutoTokenizer.from_pretrained(folder)
    assert [shown(ours, chat) for chat in CHATS] == [shown(theirs, chat) for chat in CHATS]


@pytest.mark.parametrize("style", STYLES)
def test_a_chat_has_the_ids_that_it_has_with_transformers(style: str, tmp_path: Path) -> None:
    folder = saved(tmp_path, *STYLES[style])
    ours = ChatEncoder(TokenizerFiles(folder))
    theirs = ChatEncoder(AutoTokenizer.from_pretrained(folder))
    for chat in CHATS[:3]:
        messages = [{"role": role, "content": content} for role, content in chat]
        assert ours.encode(messages) == theirs.encode(messages)
    assert ours.words == theirs.words
    assert ours.token_ids_by_entry(("1", "5")) == theirs.token_ids_by_entry(("1", "5"))


def test_older_layouts(tmp_path: Path) -> None:
    """Several templates by name, and control tokens that are more than their texts."""
    folder = saved(tmp_path, "unused")
    (folder / TOKENIZER_FILES[2]).unlink()
    named = [{"name": "tool_use", "template": "t"}]
    named += [{"name": "default", "template": "{{ bos_token }}{{ messages }}"}]
    settings: dict[str, Any] = {"chat_template": named, "add_bos_token": True}
    settings["bos_token"] = {"content": "<s>", "special": True}
    (folder / TOKENIZER_FILES[1]).write_text(json.dumps(settings))
    assert shown(TokenizerFiles(folder), [("user", "a")]) == "<s>[{'role': 'user', 'content': 'a'}]"
    (folder / TOKENIZER_FILES[1]).unlink()
    with pytest.raises(ValueError, match="has no chat template"):
        ChatEncoder(TokenizerFiles(folder))


def test_a_template_cannot_reach_this_process(tmp_path: Path) -> None:
    folder = saved(tmp_path, "{{ messages.__class__.__mro__[1].__subclasses__() }}")
    answer = shown(TokenizerFiles(folder), [("user", "a")])
    assert "refused: access to attribute '__class__'" in answer


@pytest.mark.parametrize("text", ["", "{", '{"version": "1.0"}', '{"model": {"type": "Later"}}'])
def test_a_broken_tokenizer_json_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "tokenizer.json").write_text(text)
    with pytest.raises(ValueError, match=r"tokenizer\.json cannot be read"):
        TokenizerFiles(tmp_path)
