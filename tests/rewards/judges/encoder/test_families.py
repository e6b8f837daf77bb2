"""encoder:MODEL reads what each family of models can read, and any text that Python can hold."""

from pathlib import Path

import pytest

from spanreward.rewards.judges.encoder.encoder_judge import EncoderJudge, readable
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


@pytest.mark.parametrize("text", ["a red \ud83d cat", "\udc00", "\ud83d\ude00 cat", "\ud800" * 500, "cat\0 \uffff"])
def test_any_text_that_python_holds_is_read(text: str, tmp_path: Path) -> None:
    judge = EncoderJudge(save_family(tmp_path, "bert"))
    first, *others = judge.read([(TEXT, TARGET), (text, TARGET), (TARGET, text)])
    assert judge.read([(TEXT, TARGET)]) == [pytest.approx(first, abs=1e-5)]
    assert all(0 <= end <= len(text) for _, end in others[0])
    assert [len(tokens) > 0 for tokens in others] == [True, True]
