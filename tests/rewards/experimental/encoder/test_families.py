"""encoder:MODEL reads what each family of models can read, and any text that Python can hold."""

from pathlib import Path

import pytest

from spanreward.rewards.experimental.encoder_judge import (
    EncoderJudge,
    is_decoder,
    padding_tokenizer,
    readable,
    windows,
)  # fmt: skip
from spanreward.rewards.judges.smollm2 import smollm2_folder
from tests.support.tiny_encoder import FAMILIES, save_family

TEXT, TARGET = "a red cat sits on the mat .", "the dog sleeps and a cat sits ."


@pytest.mark.parametrize("family", FAMILIES)
def test_each_family_is_read_to_its_last_position(family: str, tmp_path: Path) -> None:
    judge = EncoderJudge(save_family(tmp_path, family))
    judge.start()
    longest = []
    judge._loaded[1].register_forward_pre_hook(  # type: ignore[index]  # started
        lambda model, args, kwargs: longest.append(kwargs["input_ids"].shape[1]), with_kwargs=True
    )
    long = [("cat " * size, "dog " * (FAMILIES[family][1] - size - 3)) for size in range(8, 16)]
    read = judge.read([*long, ("cat " * 200, "dog " * 200)])
    assert [len(tokens) for tokens in read] == [*range(8, 16), 200]
    assert max(longest) <= readable(judge._loaded[1]) == FAMILIES[family][1]  # type: ignore[index]
    assert max(longest) >= FAMILIES[family][1] - 2
    pairs = [(TEXT, TARGET), ("a cat", TARGET * 3)]
    alone = [tokens for pair in pairs for tokens in judge.read([pair])]
    for one, together in zip(alone, judge.read(pairs), strict=True):
        assert together == pytest.approx(one, abs=1e-5)


@pytest.mark.parametrize(
    "text", ["a red \ud83d cat", "\udc00", "\ud83d\ude00 cat", "\ud800" * 500, "cat\0 \uffff"]
)
def test_any_text_that_python_holds_is_read(text: str, tmp_path: Path) -> None:
    judge = EncoderJudge(save_family(tmp_path, "bert"))
    first, *others = judge.read([(TEXT, TARGET), (text, TARGET), (TARGET, text)])
    assert judge.read([(TEXT, TARGET)]) == [pytest.approx(first, abs=1e-5)]
    assert all(0 <= end <= len(text) for _, end in others[0])
    assert [len(tokens) > 0 for tokens in others] == [True, True]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_decoder_is_known_by_it_and_reads_the_text_twice(family: str, tmp_path: Path) -> None:
    judge = EncoderJudge(save_family(tmp_path, family))
    judge.start()
    tokenizer, model, decoder = judge._loaded  # type: ignore[misc]  # started
    assert decoder == is_decoder(model) == (family == "llama")
    sits, sleeps = judge.read([("a cat sits", TARGET), ("a cat sleeps", TARGET)])
    # the first word is read with the last one
    assert sits[0, 1] != pytest.approx(sleeps[0, 1], abs=1e-6)
    (once,), (twice,) = (windows(tokenizer, TEXT, TARGET, 64, again) for again in (False, True))
    assert len(twice.places) == len(once.places) + len(TEXT.split())
    assert list(filter(None, twice.places)) == list(filter(None, once.places))
    long = (tokenizer, TEXT * 4, TARGET, 40)
    assert windows(*long, True) == windows(*long)  # does not fit


def test_something_stands_between_target_and_text_where_the_tokenizer_puts_nothing() -> None:
    tokenizer = padding_tokenizer(smollm2_folder())
    (window,) = windows(tokenizer, "A dog.", "A red cat.", 100)
    assert tokenizer.decode(window.inputs["input_ids"]) == "A red cat.\nA dog."
    (twice,) = windows(tokenizer, "A dog.", "A red cat.", 100, True)
    assert tokenizer.decode(twice.inputs["input_ids"]) == "A red cat.\nA dog.\nA dog."
    assert [place for place in twice.places if place] == [(0, 1), (1, 5), (5, 6)]
    cut = windows(tokenizer, "A dog." * 40, "A red cat." * 40, 100, True)
    assert all("\n" in tokenizer.decode(window.inputs["input_ids"]) for window in cut)
    assert max(len(window.places) for window in cut) <= 100
