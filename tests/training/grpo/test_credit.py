"""Characters to tokens: every character of the text belongs to the tokens whose bytes wrote it."""

from typing import Any

import pytest
import torch
from hypothesis import example, given, settings, strategies as st
from tokenizers import Tokenizer, decoders, models
from torch import Tensor

import spanreward
from experiments.scenes.policy import tiny_tokenizer
from spanreward.rewards.base.verdict import Span, Verdict
from spanreward.training.grpo import credit as credit_module
from spanreward.training.grpo.credit import (
    Phrase,
    baseline_credit,
    first_mentions,
    on_tokens,
    phrases_of,
    special_ids,
    tokens_of,
)
from spanreward.training.grpo.span_rules import (
    STD_FLOOR,
    add_centred,
    centred_values,
    credit_moments,
    credit_std,
    scale_credit,
)

TINY = tiny_tokenizer().backend_tokenizer
PAD, EOS = 0, 1
SPECIAL = (PAD, EOS, 2, 3, 4)


def token_offsets(tokenizer: Tokenizer, ids: list[int], text: str) -> list[tuple[int, int]] | None:
    return credit_module.token_offsets(tokenizer, special_ids(tokenizer), ids, text)


def ids_of(text: str) -> list[int]:
    return TINY.encode(text, add_special_tokens=False).ids


def decoded(ids: list[int]) -> str:
    return TINY.decode(ids, skip_special_tokens=True)


def byte_fallback_tokenizer() -> Tokenizer:
    """As Llama's: ▁ for a space, the first dropped; a token per byte of what has no token."""
    words = {"<unk>": 256, "▁": 257, "▁hello": 258, "a": 259}
    vocab = {f"<0x{byte:02X}>": byte for byte in range(256)} | words
    model = models.BPE(vocab=vocab, merges=[], byte_fallback=True, unk_token="<unk>")
    spaces, strip = decoders.Replace("▁", " "), decoders.Strip(" ", 1, 0)
    tokenizer = Tokenizer(model)
    tokenizer.decoder = decoders.Sequence([spaces, decoders.ByteFallback(), decoders.Fuse(), strip])
    tokenizer.add_special_tokens(["<s>"])
    return tokenizer


def straddling_tokenizer() -> Tokenizer:
    """Byte-level, with a token that ends one 🙂 (f0 9f 99 82) and begins the next, by GPT-2's
    printable stand-ins for bytes: from U+0100 on, in order, for one that is not printable.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    vocab = {}
    for number, run in enumerate((b"\xf0\x9f\x99", b"\x82\xf0", b"\x9f\x99\x82", b"a")):
        letters = [chr(b if b in printable else 0x100 + others.index(b)) for b in run]
        vocab["".join(letters)] = number
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def spread(*lengths: int) -> list[tuple[int, int]]:
    """The offsets where this many tokens in turn write each character."""
    return [(place, place + 1) for place, length in enumerate(lengths) for _ in range(length)]


A, RED = ids_of("A red")
(LEAD, REST), SMILE, (SMALL,) = ids_of("é"), ids_of("🙂"), ids_of("a")


STRADDLING, FALLBACK = straddling_tokenizer(), byte_fallback_tokenizer()
START = FALLBACK.token_to_id("<s>")
BYTES = list("🙂".encode())
HELLO = [START, 258, 258, *BYTES, *BYTES, START, 257, 259]
HELLO_OFFSETS = [(0, 0), (0, 5), (5, 11)] + [(11, 12)] * 4 + [(12, 13)] * 4
HELLO_OFFSETS += [(13, 13), (13, 14), (14, 15)]
# special tokens between the bytes of two emoji
MIXED = [SMILE[0], EOS, PAD, SMILE[1], 2, SMILE[2], 3, 4, SMILE[3], EOS, SMILE[0], PAD, *SMILE[1:]]
MIXED_OFFSETS = [(0, 1) if token in SMILE else (0, 0) for token in MIXED[:9]]
MIXED_OFFSETS += [(1, 1), (1, 2), (1, 1)] + [(1, 2)] * 3


@pytest.mark.parametrize(
    ("tokenizer", "ids", "text", "offsets"),
    [
        (TINY, ids_of("A red star."), "A red star.", [(0, 1), (1, 5), (5, 10), (10, 11)]),
        (
            TINY,
            [EOS, A, PAD, 3, RED, EOS, PAD],
            "A red",  # special tokens write nothing
            [(0, 0), (0, 1), (1, 1), (1, 1), (1, 5), (5, 5), (5, 5)],
        ),
        (TINY, [EOS, EOS], "", [(0, 0), (0, 0)]),
        (TINY, MIXED, "🙂🙂", MIXED_OFFSETS),
        (TINY, [A, 10**6, RED], "A red", [(0, 1), (1, 1), (1, 5)]),  # outside the vocabulary
        (TINY, [], "", []),
        # bytes of one character share it
        (TINY, ids_of("é"), "é", spread(2)),
        (TINY, ids_of("a🙂🙂b"), "a🙂🙂b", spread(1, 4, 4, 1)),
        # characters that are cut short
        *((TINY, [SMALL, *SMILE[:count]], "a\ufffd", spread(1, count)) for count in (1, 2, 3)),
        (TINY, [*SMILE, *SMILE[:2]], "🙂\ufffd", spread(4, 2)),
        # broken bytes in the middle
        (TINY, [LEAD, SMALL], "\ufffda", spread(1, 1)),
        (TINY, [REST, REST, SMALL], "\ufffd\ufffda", spread(1, 1, 1)),
        (TINY, [LEAD, *SMILE, SMALL], "\ufffd🙂a", spread(1, 4, 1)),
        (TINY, [*SMILE[:3], SMALL], "\ufffda", spread(3, 1)),
        # the replacement character itself
        (TINY, ids_of("\ufffda"), "\ufffda", spread(3, 1)),
        (TINY, ids_of("a\ufffd"), "a\ufffd", spread(1, 3)),
        # a token across two characters gets both
        (STRADDLING, [0, 1, 2], "🙂🙂", [(0, 1), (0, 2), (1, 2)]),
        (STRADDLING, [3, 0, 1, 2, 3], "a🙂🙂a", [(0, 1), (1, 2), (1, 3), (2, 3), (3, 4)]),
        (STRADDLING, [3, 0, 1], "a🙂\ufffd", [(0, 1), (1, 2), (1, 3)]),
        (FALLBACK, HELLO, "hello hello🙂🙂 a", HELLO_OFFSETS),
        (FALLBACK, [257, 259], "a", [(0, 0), (0, 1)]),  # the dropped space writes nothing
        # a broken byte run turns the whole run into U+FFFD, the good emoji too: no lining up
        (FALLBACK, [258, *BYTES, BYTES[0], 259], "hello" + "\ufffd" * 5 + "a", None),
    ],
)
def test_the_characters_of_tokens(tokenizer: Tokenizer, ids: Any, text: str, offsets: Any) -> None:
    assert tokenizer.decode(ids) == text
    assert token_offsets(tokenizer, ids, text) == offsets


@pytest.mark.parametrize(
    "text", ["A red star", "A red star. ", " A red star.", "a red star.", "", "A red star.\ufffd"]
)
def test_another_text_is_none(text: str) -> None:
    assert token_offsets(TINY, ids_of("A red star."), text) is None


@settings(max_examples=200)
@given(st.text(max_size=40))
@example("A small 🙂🙂 star.")
@example("日本語のテキスト")
@example("שלום עולם")
@example("e\u0301\u0301 👩‍👩‍👧 🇩🇪")
@example("\ufffd\ufffda\ufffd")
@example("naïve café\n\n")
def test_any_text_is_cut_where_its_bytes_are(text: str) -> None:
    """Every tiny token is a run of bytes, so its characters follow from UTF-8 alone."""
    ids = ids_of(text)
    if decoded(ids) != text:  # the text holds a special token's name
        return
    owner = [n for n, character in enumerate(text) for _ in character.encode()]
    expected = []
    at = 0
    for token in ids:
        length = len(TINY.id_to_token(token))  # the byte-level alphabet has one letter a byte
        expected.append((owner[at], owner[at + length - 1] + 1))
        at += length
    assert at == len(owner)
    assert token_offsets(TINY, ids, text) == expected


@settings(max_examples=200)
@given(st.lists(st.integers(0, TINY.get_vocab_size() - 1), max_size=40))
def test_any_ids_cover_their_text(ids: Any) -> None:
    text = decoded(ids)
    offsets = token_offsets(TINY, ids, text)
    assert offsets is not None
    assert len(offsets) == len(ids)
    rebuilt, end = "", 0
    for start, stop in offsets:
        assert end - 1 <= start <= end, offsets  # the next character, or one more byte of the last
        rebuilt += text[max(start, end) : stop]
        end = max(end, stop)
    assert rebuilt == text
    assert [start == stop for start, stop in offsets] == [token in SPECIAL for token in ids]


@given(st.text(max_size=20), st.data())
def test_special_tokens_move_nothing(text: str, data: Any) -> None:
    ids = ids_of(text)
    plain = token_offsets(TINY, ids, decoded(ids))
    mixed = []
    for i in ids:
        mixed += [*data.draw(st.lists(st.sampled_from(SPECIAL), max_size=3)), i]
    offsets = token_offsets(TINY, mixed, decoded(ids))
    # an id of `ids` may be a special token too, when the text holds its name
    found = [span for token, span in zip(mixed, offsets, strict=True) if token not in SPECIAL]
    assert found == [span for token, span in zip(ids, plain, strict=True) if token not in SPECIAL]


def span(start: int, end: int, credit: float, component: int) -> Span:
    return Span(start, end, score=0.5, credit=credit, kind="object", note="", component=component)


def credited(spans: list[Span], offsets: list[tuple[int, int]]) -> tuple[list[float], list[bool]]:
    mentions = first_mentions(spans)
    tokens = {0: tokens_of(mentions, offsets)}
    credit, covered = on_tokens([mention.credit for mention in mentions], tokens, (1, len(offsets)))
    return credit[0].tolist(), covered[0].tolist()


FOUR = [(0, 1), (1, 5), (5, 10), (10, 11)]  # A| red| star|.


SPACED = [(0, 1), (5, 5), (5, 10)]  # nothing wrote characters 1 to 4; the special token wrote none


@pytest.mark.parametrize(
    ("spans", "offsets", "credit", "covered"),
    [
        # shared by the tokens of the span
        ([span(2, 10, 0.3, 0)], FOUR, [0.0, 0.15, 0.15, 0.0], "0110"),
        ([span(2, 3, 0.3, 0)], FOUR, [0.0, 0.3, 0.0, 0.0], "0100"),
        # later mentions get nothing
        ([span(10, 11, -0.4, 7), span(0, 1, -0.4, 7), span(5, 10, -0.4, 7)], FOUR,
         [-0.4, 0.0, 0.0, 0.0], "1000"),
        # components on one token add
        ([span(2, 5, 0.25, 0), span(2, 10, -1.0, 1)], FOUR, [0.0, -0.25, -0.5, 0.0], "0110"),
        # those that cancel still cover
        ([span(2, 5, 0.25, 0), span(2, 5, -0.25, 1)], FOUR, [0.0] * 4, "0100"),
        # the whole text and no text
        ([span(0, 11, 1.0, 0)], FOUR, [0.25] * 4, "1111"),
        ([], FOUR, [0.0] * 4, "0000"),
        ([], [], [], ""),
        # a span without tokens is left out
        ([span(2, 4, 1.0, 0)], SPACED, [0.0] * 3, "000"),
        ([span(20, 24, 1.0, 0)], SPACED, [0.0] * 3, "000"),
        # a special token inside a span gets nothing
        ([span(0, 8, 1.0, 0)], [(0, 4), (4, 4), (4, 8)], [0.5, 0.0, 0.5], "101"),
    ],
)  # fmt: skip
def test_the_credit_of_tokens(
    spans: list[Span], offsets: list[tuple[int, int]], credit: list[float], covered: str
) -> None:
    assert credited(spans, offsets) == (credit, [mark == "1" for mark in covered])


DRAWN = st.tuples(st.integers(0, 25), st.integers(1, 10), st.integers(-8, 8), st.integers(0, 5))


@given(st.text(min_size=1, max_size=20), st.lists(DRAWN, max_size=8))
def test_credit_is_neither_lost_nor_made(text: str, drawn: Any) -> None:
    ids = ids_of(text)
    offsets = token_offsets(TINY, ids, decoded(ids))
    assert offsets is not None
    # one for all spans of a component
    credits = {component: credit / 8 for _, _, credit, component in drawn}
    spans = [span(at, at + length, credits[c], c) for at, length, _, c in drawn]
    reached = []
    for component in credits:
        of_component = [each for each in spans if each.component == component]
        first = min(of_component, key=lambda each: each.start)
        if any(a < first.end and first.start < b for a, b in offsets if a < b):
            reached.append(component)
    credit, covered = credited(spans, offsets)
    assert sum(credit) == pytest.approx(sum(credits[c] for c in reached), abs=1e-9)
    assert any(covered) == bool(reached)
    assert all(mark or value == 0 for value, mark in zip(credit, covered, strict=True))


CREDIT = torch.tensor([[1.0, 3.0, 100.0], [5.0, 100.0, 100.0]])
COVERED = torch.tensor([[True, True, False], [True, False, False]])


def moments_of(credit: torch.Tensor, covered: torch.Tensor) -> torch.Tensor:
    """As SpanCredit sums them over ranks."""
    return torch.stack(credit_moments(credit.double(), covered))


@pytest.mark.parametrize(
    ("credit", "covered", "sums", "std"),
    [
        # mean 3, squared distances 4 + 0 + 4, by 3
        (CREDIT, COVERED, [9.0, 35.0, 3.0], (8 / 3) ** 0.5),
        (CREDIT, torch.zeros_like(COVERED), [0.0, 0.0, 0.0], 0),
        (torch.full((4, 5), 0.1), torch.ones(4, 5, dtype=torch.bool), [2.0, 0.2, 20.0], 0),
        (torch.full((4, 5), 1e6), torch.ones(4, 5, dtype=torch.bool), [2e7, 2e13, 20.0], 0),
    ],
)
def test_moments_by_hand_and_their_std(credit: Any, covered: Any, sums: Any, std: float) -> None:
    moments = moments_of(credit, covered)
    assert moments.dtype == torch.float64
    assert moments.tolist() == pytest.approx(sums, rel=1e-6)
    assert credit_std(moments.tolist()) == pytest.approx(std + STD_FLOOR, abs=1e-9)
    # those of ranks add up
    parts = moments_of(credit[:1], covered[:1]) + moments_of(credit[1:], covered[1:])
    assert torch.equal(parts, moments)


def test_scaled_credit_is_zero_where_nothing_is_covered() -> None:
    assert scale_credit(CREDIT, COVERED, std=2.0).tolist() == [[0.5, 1.5, 0.0], [2.5, 0.0, 0.0]]


def test_phrases_know_their_sentence_and_their_first_mention() -> None:
    text = "A star. A red one!\nIt glows"
    later = Span(21, 23, 0.5, 0.2, "relation", "", 3)
    mentions = first_mentions([later, Span(8, 14, 0.5, -0.1, "entity", "", 1), span(2, 6, 0.3, 3)])
    assert [(mention.start, mention.component) for mention in mentions] == [(2, 3), (8, 1)]
    phrases = [Phrase(0.3, "object", 0, 7), Phrase(-0.1, "entity", 1, 7)]
    assert phrases_of(mentions, text, group=7) == phrases
    assert phrases_of([span(19, 21, 1.0, 0)], text, 0)[0].place == 2


def test_baseline_credit_by_hand() -> None:
    """Two groups, each with an attribute of -0.3 and an entity of 0.1 in one sentence; SHRINKING_PHRASES is 4.

    The mean is -0.1. Kind: the other attribute lies 0.2 below, so -0.1 - 0.2 / (1 + 4) = -0.14; the
    entity's is -0.06. Place: the residuals are -0.16, 0.16, -0.16, 0.16, and those of an
    attribute's three others add up to 0.16, so -0.14 + 0.16 / (3 + 4) = -0.117143. Group: the one
    other, an entity, is now 0.182857 above, so -0.117143 + 0.182857 / (1 + 4) = -0.0805714.
    """
    phrases = []
    for group in (0, 1):
        phrases += [Phrase(-0.3, "attribute", 0, group), Phrase(0.1, "entity", 0, group)]
    assert baseline_credit(phrases) == pytest.approx([-0.0805714, -0.1194286] * 2, abs=1e-6)


KINDS = st.sampled_from(["entity", "attribute"])
PHRASES = st.builds(Phrase, st.floats(-1, 1), KINDS, st.integers(0, 3), st.integers(0, 4))


@given(st.lists(PHRASES, max_size=30), st.randoms())
def test_baseline_credit_knows_no_order(phrases: Any, generator: Any) -> None:
    order = list(range(len(phrases)))
    generator.shuffle(order)
    usual = baseline_credit(phrases)
    expected = pytest.approx([usual[i] for i in order], abs=1e-9)
    assert baseline_credit([phrases[i] for i in order]) == expected


@given(st.floats(-1, 1), st.lists(PHRASES, max_size=30))
@example(0.4, [])
@example(0.4, [Phrase(0.0, "entity", 3, 2)])
def test_credit_that_is_everywhere_the_same_is_usual(value: Any, phrases: Any) -> None:
    same = [Phrase(value, phrase.kind, phrase.place, phrase.group) for phrase in phrases]
    assert baseline_credit(same) == pytest.approx([value] * len(same), abs=1e-9)


def test_where_all_is_wrong_nothing_is_blamed() -> None:
    """The last sentences of texts that are too long: whatever stood there would be as wrong."""
    good = [Phrase(0.2, "entity", 0, group) for group in range(4)] * 8
    bad = [Phrase(-0.2, "entity", 9, group) for group in range(4)] * 8
    usual = baseline_credit([*good, *bad])
    assert usual[-1] == pytest.approx(-0.2, abs=0.04)
    assert usual[0] == pytest.approx(0.2, abs=0.04)


def test_filler_is_blamed_for_all_it_costs_and_tells_nothing_of_others() -> None:
    phrases = [Phrase(0.2, "entity", 0, 0), Phrase(0.1, "entity", 1, 0)]
    phrases.append(Phrase(0.3, "attribute", 0, 1))
    padded = [phrases[0], Phrase(-0.4, "filler", 0, 0), *phrases[1:], Phrase(-0.9, "filler", 3, 1)]
    usual = baseline_credit(padded)
    assert (usual[1], usual[4]) == (0.0, 0.0)
    assert [usual[0], *usual[2:4]] == baseline_credit(phrases)


def test_the_credit_of_a_verdict_for_any_trainer() -> None:
    text = "A red star."
    ids = [*ids_of(text), EOS]
    verdict = Verdict(0.5, spans=[span(2, 5, 0.25, 0), span(6, 10, -1.0, 1), span(0, 1, -1.0, 1)])
    credit = spanreward.token_credit(verdict, ids, tiny_tokenizer())
    assert len(credit) == len(ids)
    assert sum(credit) == pytest.approx(0.25 - 1.0)
    assert credit[2:] == [0.0] * 3  # a later mention, the dot and the end
    with pytest.raises(ValueError, match=r"character 10, .* 5 characters"):
        spanreward.token_credit(verdict, ids_of("A red"), tiny_tokenizer())


# What the rule promises, over random batches; and by hand.

ADVANTAGES = torch.tensor([2.0, -1.0])
# the first row's last token is padding
ROWS = torch.tensor([[1.0, 0.0, -3.0, 9.0], [-1.0, 1.0, 0.0, 0.0]])
KEPT = torch.tensor([[True, True, True, False], [True, True, False, False]])

Drawn = tuple[Tensor, Tensor, Tensor, float]


@st.composite
def batches(draw: st.DrawFn) -> tuple[Tensor, Tensor, Tensor, float]:
    rows, width = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    numbers = st.floats(-5, 5, width=32)
    advantages = torch.tensor([draw(numbers) for _ in range(rows)])
    lengths = torch.tensor([draw(st.integers(0, width)) for _ in range(rows)])
    mask = torch.arange(width).unsqueeze(0) < lengths.unsqueeze(1)
    credit = torch.tensor([[draw(numbers) for _ in range(width)] for _ in range(rows)]) * mask
    return advantages, credit, mask, draw(st.floats(0, 2, width=32))


def test_by_hand() -> None:
    first, second = add_centred(ADVANTAGES, ROWS, KEPT, 0.5).tolist()
    third = 2 / 3
    expected = [2 + 0.5 * (1 + third), 2 + 0.5 * third, 2 + 0.5 * (third - 3)]
    assert first[:3] == pytest.approx(expected)
    assert second[:2] == [-1.5, -0.5]


@given(batch=batches(), level=st.floats(-3, 3, width=32))
def test_the_scalar_stays_without_a_difference_in_credit(batch: Drawn, level: float) -> None:
    advantages, credit, mask, coefficient = batch
    scalar = advantages.unsqueeze(1).expand(credit.shape)
    assert torch.equal(add_centred(advantages, credit, mask, 0.0), scalar)
    assert torch.equal(add_centred(advantages, torch.zeros_like(credit), mask, coefficient), scalar)
    equal = add_centred(advantages, torch.full_like(credit, level) * mask, mask, coefficient)
    torch.testing.assert_close(equal, scalar, rtol=1e-4, atol=1e-4)


@given(batch=batches())
def test_rows_are_independent_and_add_up_to_their_scalars(batch: Drawn) -> None:
    advantages, credit, mask, coefficient = batch
    found = add_centred(*batch)
    assert found.shape == credit.shape
    assert torch.isfinite(found).all()
    back = add_centred(advantages.flip(0), credit.flip(0), mask.flip(0), coefficient)
    assert torch.equal(back, found.flip(0))
    sums = torch.where(mask, found, 0.0).sum(dim=1)
    torch.testing.assert_close(sums, advantages * mask.sum(dim=1), rtol=1e-4, atol=1e-3)


def test_the_centre_of_an_empty_row_is_0() -> None:
    assert centred_values(ROWS, torch.zeros_like(KEPT)).tolist() == [[0.0] * 4] * 2
