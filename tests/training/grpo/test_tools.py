"""Policies that call tools: the assistant's last message is judged, and credit goes to tokens that the policy wrote."""

from pathlib import Path

from spanreward.training.grpo.picture_tokens import take_out
from spanreward.training.grpo.reasoning import split_turns
from spanreward.training.policy import load_policy
from tests.support.tiny_models import save_llama


def test_the_last_turn_is_found_in_the_text_of_all(tmp_path: Path) -> None:
    save_llama(tmp_path)
    _, tokenizer = load_policy(str(tmp_path))
    ids = tokenizer("A red star. A blue star. A red star.")["input_ids"]
    parts = split_turns(tokenizer.backend_tokenizer, ids, "A red star.")
    assert parts.answer == "A red star."
    assert parts.reasoning == tokenizer.decode(ids).removesuffix("A red star.")
    assert split_turns(tokenizer.backend_tokenizer, ids, "").answer == ""
    assert split_turns(tokenizer.backend_tokenizer, ids, "elsewhere").reasoning == ""


def test_a_tools_picture_stays() -> None:
    ids = [[1, 7, 2], [7, 3]]
    assert take_out(ids, {7}, 0, [[1, 0, 1], [1, 1]]) == [1]
    assert ids == [[1, 7, 2], [0, 3]]
