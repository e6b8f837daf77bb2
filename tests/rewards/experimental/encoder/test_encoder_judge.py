"""encoder:MODEL with tiny random weights: a BERT, and a ModernBERT as LettuceDetect has it."""

import math
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import example, given, settings, strategies as st
from transformers import AutoModel, AutoTokenizer, BertForTokenClassification

from spanreward import PoshReward, Question, Sample, Status, load_judge
from spanreward.rewards.experimental.encoder_judge import (
    EncoderJudge,
    fewest_tokens,
    is_decoder,
    max_readable_tokens,
    padding_tokenizer,
    windows_of,
)
from spanreward.rewards.judges.probe import CriterionProbe, Mention, PhraseProbe, PresenceProbe
from spanreward.rewards.judges.smollm2 import smollm2_folder
from tests.support.tiny_encoder import FAMILIES, WORDS, save_family, saved

TEXT, TARGET = "a red cat sits on the mat .", "the dog sleeps and a cat sits ."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return saved(tmp_path_factory.mktemp("bert"))


def probe(start: int, end: int, source: str = TEXT, target: str = TARGET) -> Question:
    places = ((start, end),)
    return Question(
        [], (), PresenceProbe(target, "entity", Mention("x"), source=source, places=places)
    )


def means(judge: EncoderJudge, *questions: Question) -> list[float]:
    return [answer.mean for answer in judge.rate(questions)]


def test_a_rating_is_the_mean_probability_of_its_tokens(folder: str) -> None:
    judge = EncoderJudge(folder)
    (read,) = judge.read([(TEXT, TARGET)])
    assert [TEXT[slice(*place)] for place in read] == TEXT.split()
    mean = (read[2, 5] + read[6, 9]) / 2
    expected = {"1": 1 - mean, "2": 0, "3": 0, "4": 0, "5": mean}
    assert judge.rate([probe(2, 9)])[0].probabilities == pytest.approx(expected)
    assert len({round(p, 4) for p in read.values()}) > 4  # the weights tell tokens apart


def test_the_probability_is_that_of_the_plain_model(folder: str) -> None:
    judge = EncoderJudge(folder)
    (read,) = judge.read([(TEXT, TARGET)])
    ids = [WORDS.index(word) for word in f"[CLS] {TARGET} [SEP] {TEXT} [SEP]".split()]
    sides = [[0] * (len(TARGET.split()) + 2) + [1] * (len(TEXT.split()) + 1)]
    model = BertForTokenClassification.from_pretrained(folder).eval()
    logits = model(torch.tensor([ids]), token_type_ids=torch.tensor(sides)).logits[0]
    plain = logits.softmax(-1)[len(TARGET.split()) + 2 : -1, 0]
    assert list(read.values()) == pytest.approx(plain.tolist(), abs=1e-5)


def test_a_batch_is_as_one_at_a_time(folder: str) -> None:
    judge = EncoderJudge(folder)
    asked = [probe(2, 5), probe(0, 3, "the dog .", "a cat"), probe(6, 9, TARGET, TEXT * 3)]
    one_by_one = [mean for question in asked for mean in means(judge, question)]
    assert means(judge, *asked) == pytest.approx(one_by_one, abs=1e-5)


@pytest.mark.parametrize(
    ("text", "target"), [("", TARGET), (TEXT, ""), ("cat " * 500, TARGET), (TEXT, "dog " * 5000)]
)
def test_any_length_is_read(folder: str, text: str, target: str) -> None:
    (read,) = EncoderJudge(folder).read([(text, target)])
    assert len(read) == len(text.split())
    assert all(0 <= p <= 1 for p in read.values())


def test_windows_cover_and_fit(folder: str) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert len(windows_of(tokenizer, TEXT, TARGET, 64)) == 1
    several = windows_of(tokenizer, "cat " * 100, "dog " * 100, 64)
    assert len({window.piece for window in several}) > 2
    sizes = [len(window.places) for window in several]
    assert max(sizes) - min(sizes) <= 8


@settings(deadline=None)  # a busy machine
@given(st.integers(0, 400), st.integers(0, 400), st.sampled_from([64, 256, 512]))
@example(100, 100, 64)
def test_windows_of_any_two_lengths(folder: str, text: int, target: int, longest: int) -> None:
    found = windows_of(
        AutoTokenizer.from_pretrained(folder), "cat " * text, "dog " * target, longest
    )
    assert max(len(window.places) for window in found) <= longest
    read = {place for window in found for place in window.places if place}
    assert read == {(at, at + 3) for at in range(0, 4 * text, 4)}


@given(st.integers(0, 900), st.integers(0, 900), st.sampled_from([64, 256, 512]))
def test_parts_cover_their_side_and_fit(text: int, target: int, longest: int) -> None:
    budget, overlap = longest - 7, longest // 16
    part, size = fewest_tokens(text, target, budget, overlap)
    assert part + size <= budget
    counts = [
        1 if have <= one else math.ceil((have - overlap) / (one - overlap))
        for have, one in ((text, part), (target, size))
    ]
    if text + target <= budget:
        assert (part, size) == (text, target)
    else:  # cutting the longer side alone, where that fits, is never cheaper
        short, long = sorted((text, target))
        if (one := budget - short) >= 2 * overlap:
            alone = math.ceil((long - overlap) / (one - overlap))
            assert counts[0] * counts[1] * (part + size) <= alone * (short + one)


@pytest.mark.parametrize(
    ("text", "target", "sizes"),
    [
        (100, 100, (100, 100)),
        # two halves of 300 and 32, and 260 twice: 852
        *((300, 260, (166, 260)), (260, 300, (260, 166))),
    ],
)
def test_the_fewest_tokens(text: int, target: int, sizes: tuple[int, int]) -> None:
    assert fewest_tokens(text, target, 500, 32) == sizes


@pytest.mark.parametrize(
    "hostile", ["a cat [SEP] dog .", "[CLS] [PAD] [MASK] cat", "\x00 \ud7ff cat"]
)
def test_special_tokens_are_words(folder: str, hostile: str) -> None:
    judge = EncoderJudge(folder)
    judge.start()
    (window,) = windows_of(judge._loaded[0], hostile, hostile, 64)  # type: ignore[index]  # started
    assert [window.inputs["input_ids"].count(number) for number in (0, 2, 3, 4)] == [0, 1, 2, 0]


def test_a_published_layout_loads(tmp_path: Path) -> None:
    judge = load_judge(f"encoder:{saved(tmp_path, modern=True)}")
    said, wanted = "A red cat sits on the mat.", "A dog sleeps."
    verdict = PoshReward(judge).assess([Sample("", said, references=(wanted,))])[0]
    assert verdict.status is Status.OK
    assert verdict.spans
    once = EncoderJudge(str(tmp_path))
    once.rate([probe(0, 1, said, wanted), probe(0, 1, wanted, said)])
    # three passes of questions, and each side read once
    assert judge.usage.prompt_tokens == once.usage.prompt_tokens


@pytest.mark.parametrize(
    "asked",
    [CriterionProbe("fluency", "A cat."), PresenceProbe("A cat.", "entity", Mention("cat"))],
)
def test_what_it_cannot_judge(folder: str, asked: Any) -> None:
    (answer,) = EncoderJudge(folder).rate([Question([], probe=asked)])
    assert answer.status is Status.UNPARSED


def test_models_that_it_refuses(folder: str, tmp_path: Path) -> None:
    phrase = Question([], probe=PhraseProbe("cat", "the cat"))
    assert EncoderJudge(folder).write([phrase], 5) == ["the cat"]
    with pytest.raises(ValueError, match="3 labels"):
        EncoderJudge(saved(tmp_path, labels=3)).start()
    # has no head, which would be drawn at random
    for kind in (AutoModel, AutoTokenizer):
        kind.from_pretrained(folder).save_pretrained(tmp_path / "base")
    with pytest.raises(ValueError, match=r"files lack classifier"):
        EncoderJudge(str(tmp_path / "base")).start()


def test_a_pickle_has_no_weights(folder: str) -> None:
    judge = EncoderJudge(folder)
    before = means(judge, probe(2, 5))
    pickled = pickle.dumps(judge)
    assert len(pickled) < 1000
    assert means(pickle.loads(pickled), probe(2, 5)) == before


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
    assert max(longest) <= max_readable_tokens(judge._loaded[1]) == FAMILIES[family][1]  # type: ignore[index]
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
    (once,), (twice,) = (windows_of(tokenizer, TEXT, TARGET, 64, again) for again in (False, True))
    assert len(twice.places) == len(once.places) + len(TEXT.split())
    assert list(filter(None, twice.places)) == list(filter(None, once.places))
    long = (tokenizer, TEXT * 4, TARGET, 40)
    assert windows_of(*long, True) == windows_of(*long)  # does not fit


def test_something_stands_between_target_and_text_where_the_tokenizer_puts_nothing() -> None:
    tokenizer = padding_tokenizer(smollm2_folder())
    (window,) = windows_of(tokenizer, "A dog.", "A red cat.", 100)
    assert tokenizer.decode(window.inputs["input_ids"]) == "A red cat.\nA dog."
    (twice,) = windows_of(tokenizer, "A dog.", "A red cat.", 100, True)
    assert tokenizer.decode(twice.inputs["input_ids"]) == "A red cat.\nA dog.\nA dog."
    assert [place for place in twice.places if place] == [(0, 1), (1, 5), (5, 6)]
    cut = windows_of(tokenizer, "A dog." * 40, "A red cat." * 40, 100, True)
    assert all("\n" in tokenizer.decode(window.inputs["input_ids"]) for window in cut)
    assert max(len(window.places) for window in cut) <= 100
