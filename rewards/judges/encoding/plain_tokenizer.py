"""A tokenizer that reads control tokens as plain characters, and a pattern that finds the control
tokens in a chat template's own text.

    plain = plain_tokenizer(tokenizer)
    plain.encode("<|im_end|>")                                   # the ids of ten plain characters
    added_token_pattern(tokens).findall("Rate it.<|im_end|>")    # ["<|im_end|>"]
"""

import json
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tokenizers import AddedToken, Tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from spanreward.rewards.judges.encoding.tokenizer_files import TokenizerFiles

# White space before a token. The lookbehind starts a match only at the beginning of a run of white
# space; otherwise a long run would be scanned again from each of its characters.
_SPACE_BEFORE = r"(?:(?<!\s)\s++)?"


def added_token_pattern(tokens: Iterable[AddedToken]) -> re.Pattern[str]:
    """Returns a pattern that finds the added tokens in a text, except those of white space."""
    patterns = []
    # A regular expression takes the first alternative that matches. So a longer token goes before
    # its beginning, as `<|im|>` before `<|im`.
    longest_first = sorted(tokens, key=lambda token: -len(token.content))
    for token in longest_first:
        if not token.content.strip():
            continue
        pattern = re.escape(token.content)
        # Some tokens include the white space before them (lstrip) or behind them (rstrip).
        if token.lstrip:
            pattern = _SPACE_BEFORE + pattern
        if token.rstrip:
            pattern += r"\s*+"
        patterns.append(pattern)
    return re.compile("|".join(patterns) or "(?!)")  # "(?!)" matches nothing


def plain_tokenizer(tokenizer: "PreTrainedTokenizerBase | TokenizerFiles") -> Tokenizer:
    """Returns a copy of the tokenizer that encodes `<|im_end|>` as ten characters. Added tokens of
    white space, such as Gemma's runs of newlines, are still encoded as one token.
    """
    state = json.loads(tokenizer.backend_tokenizer.to_str())
    if state["model"]["type"] == "Unigram":
        _rename_control_pieces(state)
    # Mark all added tokens as special, because `encode_special_tokens` below encodes special tokens
    # as plain characters. Added tokens of white space are not marked, so they remain tokens.
    for token in state["added_tokens"]:
        token["special"] = bool(token["content"].strip())
    # No post-processor, because the template writes the begin and end tokens. No truncation,
    # because `ChatEncoder.fit` cuts. No padding, because the judges pad.
    state["post_processor"] = None
    state["truncation"] = None
    state["padding"] = None
    plain = Tokenizer.from_str(json.dumps(state))
    plain.encode_special_tokens = True  # encode special tokens as plain characters
    return plain


def _rename_control_pieces(state: dict[str, Any]) -> None:
    """Renames the control tokens among the pieces of a Unigram vocabulary: `</s>` becomes ` </s>`.

    A Unigram vocabulary (T5) lists the control tokens among its pieces of plain text. No text
    matches the new name, because the tokenizer replaces spaces before the look-up. Removing a piece
    would change all later ids.

    state: the JSON of the tokenizer, which is changed.
    """
    special = [token for token in state["added_tokens"] if token["special"]]
    control = {token["content"] for token in special}
    renamed = set()
    vocabulary = []
    for text, score in state["model"]["vocab"]:
        if text in control:
            renamed.add(text)
            vocabulary.append([f" {text}", score])
        else:
            vocabulary.append([text, score])
    state["model"]["vocab"] = vocabulary
    # The library would look the old names up in the vocabulary, so these tokens are dropped.
    state["added_tokens"] = [
        token for token in state["added_tokens"] if token["content"] not in renamed
    ]
