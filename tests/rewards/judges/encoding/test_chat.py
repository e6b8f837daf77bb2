"""Chats as token ids: completions are data, scale entries are whole tokens, and bad numbers are no
rating.
"""

import math
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from spanreward import Failure, Question, Rating, Status
from spanreward.rewards.judges.encoding.chat import (
    LONGEST_WORD,
    MIN_MASS,
    ChatEncoder,
    TextPiece,
    cut_place,
    rating_from_logprobs,
    rating_from_top,
)
from tests.support.tokenizer import ENCODER, tokenizer


def ask(content: str) -> list[int]:
    return ENCODER.encode([{"role": "user", "content": content}])


@pytest.mark.parametrize(
    "chat",
    [
        [("user", "Rate it from 1 to 5.")],
        [("system", "You rate."), ("user", "    Rate it:\n\n1 2 3")],
        [("user", "a"), ("assistant", "b"), ("user", "c")],
    ],
)
def test_harmless_chats_are_encoded_as_ever(chat: Any) -> None:
    usual = [{"role": role, "content": content.strip()} for role, content in chat]
    expected = ENCODER.tokenizer.apply_chat_template(
        usual, add_generation_prompt=True, enable_thinking=False, return_dict=False
    )
    assert ENCODER.encode(usual) == expected


def test_eleven_messages_keep_their_order() -> None:
    roles = ["user", "assistant"] * 5 + ["user"]
    chat = [{"role": role, "content": f"number {n}."} for n, role in enumerate(roles)]
    text = ENCODER.tokenizer.decode(ENCODER.encode(chat))
    assert [text.index(f"number {n}.") for n in range(11)] == sorted(
        text.index(f"number {n}.") for n in range(11)
    )


@pytest.mark.parametrize(
    "text", ["a    b", "    ", "x\n        y  <think>   z", "<|im_end|>    <|im_start|>"]
)
def test_white_space_keeps_its_tokens(text: str) -> None:
    """The tokenizer has four spaces as an added token, after the control tokens and `<think>`."""
    assert ENCODER.tokenizer.decode(ENCODER.encode([{"role": "user", "content": text}])) == (
        f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
    )
    added = set(ENCODER.tokenizer.added_tokens_decoder)
    spaces = ENCODER.tokenizer.convert_tokens_to_ids("    ")
    frame = [number for number in ask("x") if number in added]
    assert sorted(number for number in ask(text) if number in added and number != spaces) == sorted(
        frame
    )
    assert spaces in ask(text)


def test_roles_and_templates_that_are_refused() -> None:
    with pytest.raises(ValueError, match="the roles tool: no tools"):
        ENCODER.encode([{"role": "tool", "content": "x"}])
    loses = ChatEncoder(tokenizer("{{ messages[-1].content }}"))
    with pytest.raises(ValueError, match="system, user once"):
        loses.encode([{"role": "system", "content": "x"}, {"role": "user", "content": "y"}])


def test_scale_entries_are_whole_tokens() -> None:
    scale = ENCODER.token_ids_by_entry(("1", "5", "10"))
    for entry in ("1", "5", "10"):
        words = ENCODER.tokenizer.convert_ids_to_tokens(scale[entry])
        assert set(words) == {entry, f"Ġ{entry}"}
    with pytest.raises(ValueError, match=r"'Answer1' is \d tokens"):
        ENCODER.token_ids_by_entry(("1", "Answer1"))


def about(description: str, asked: str = "Is it so?") -> Question:
    """A question with the description's own words before and after it."""
    content = f"Rate the TEXT.\n\nTEXT:\n{description}\n\n{asked} {description[:3]}"
    return Question([{"role": "user", "content": content}], description=(22, 22 + len(description)))


def test_what_fits_is_left_alone() -> None:
    question = about("A red circle is above a blue square.")
    whole = ENCODER.encode(question.messages)
    assert ENCODER.fit(question, len(whole)) == (whole, 0)
    _, cut = ENCODER.fit(question, len(whole) - 1)
    assert cut > 0


@pytest.mark.parametrize(
    "text",
    [
        "the answer is 5. " * 300,
        "Rate " * 900,
        "赤い丸が青い。" * 200,
        "👩‍👩‍👧 🟥 " * 200,
        "x" * 3000,
    ],
)
def test_of_what_is_too_long_the_descriptions_end_is_cut(text: str) -> None:
    question = about(text, asked="Is it so or not so, in the words of the TEXT?")
    without = ENCODER.encode(
        about("", asked="Is it so or not so, in the words of the TEXT?").messages
    )
    ids, cut = ENCODER.fit(question, 400)
    assert 400 - LONGEST_WORD - 4 <= len(ids) <= 400
    kept = text[: len(text) - cut]
    assert 0 < len(kept) < len(text)
    shown = ENCODER.tokenizer.decode(ids)
    assert shown == ENCODER.tokenizer.decode(ENCODER.encode(question.messages)).replace(
        text, kept, 1
    )
    assert "\ufffd" not in shown
    assert len(ids) > len(without)
    _, longer = ENCODER.fit(question, 401)
    assert longer <= cut


def test_an_earlier_message_is_not_cut() -> None:
    demonstration = [
        {"role": "user", "content": "the answer is 5 " * 20},
        {"role": "assistant", "content": "5"},
    ]
    question = about("the answer is 5 " * 20)
    chat = Question([*demonstration, *question.messages], description=question.description)
    ids, cut = ENCODER.fit(chat, len(ENCODER.encode(chat.messages)) - 30)
    assert cut > 0
    before = ENCODER.encode(
        [*demonstration, {"role": "user", "content": "Rate the TEXT.\n\nTEXT:\n"}]
    )
    # the last turn's end is not shared
    opened = before.index(ENCODER.tokenizer.convert_tokens_to_ids("<think>")) - 8
    assert ids[:opened] == before[:opened]


def test_a_question_that_does_not_fit_by_itself_is_refused() -> None:
    words = "the answer is 5 " * 100
    for question in (
        about("A red circle.", asked=words),
        Question(about("", asked=words).messages),
    ):
        with pytest.raises(ValueError, match=r"\d+ tokens long.* room for 50"):
            ENCODER.fit(question, 50)
    budget = len(ENCODER.encode(about("").messages))
    with pytest.raises(ValueError, match="without its description"):
        ENCODER.fit(about("🟥 red"), budget)  # an answer about nothing would be none


@settings(max_examples=100, deadline=None)
@given(st.text(st.characters(exclude_categories=()), max_size=400), st.integers(60, 200))
def test_whatever_the_text_it_fits(text: str, budget: Any) -> None:
    question = about(text)
    try:
        ids, cut = ENCODER.fit(question, budget)
    except ValueError:
        return
    assert len(ids) <= budget
    content = question.messages[0]["content"]
    shown = content[: 22 + len(text) - cut] + content[22 + len(text) :]
    assert ids == ENCODER.encode([{"role": "user", "content": shown}])


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.text(st.characters(exclude_categories=()), max_size=60), max_size=5),
    st.integers(60, 200),
)
def test_encoded_together_they_are_as_alone(texts: list[str], budget: int) -> None:
    refused = Question([{"role": "nobody", "content": "x"}])
    questions = [*map(about, texts), refused, *map(about, texts)]

    def fitted(question: Question) -> Any:
        try:
            return ENCODER.fit(question, budget)
        except ValueError as error:
            return str(error)

    assert [fitted(question) for question in ENCODER.encode_ahead(questions, budget)] == list(
        map(fitted, questions)
    )


def test_texts_are_encoded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = ChatEncoder(tokenizer())
    questions = [about(f"A red circle {number}.") for number in range(600)]
    alone = [encoder.encode(question.messages) for question in questions]
    assert encoder.join_place is not None  # finding it encodes texts of its own
    monkeypatch.setattr(encoder._plain, "encode", None)
    assert [
        encoder.fit(question, 300)[0] for question in encoder.encode_ahead(questions, 300)
    ] == alone


def test_a_long_description_is_encoded_once_for_all_its_questions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encoder = ChatEncoder(tokenizer())
    lengths = []

    class Counting:
        plain = encoder._plain

        def encode(self, text: str, **settings: Any) -> Any:
            lengths.append(len(text))
            return self.plain.encode(text, **settings)

    assert encoder.join_place is not None  # finding it encodes texts of its own
    monkeypatch.setattr(encoder, "_plain", Counting())
    text = "the answer is 5 from 1 to 5 " * 3000
    questions = [about(text, asked=f"Is it {number} so?") for number in range(500)]
    cuts = {encoder.fit(question, 300)[1] for question in questions}
    assert min(cuts) > 80_000
    assert sum(length >= 10_000 for length in lengths) == 1
    pieces = sum(
        isinstance(piece, TextPiece) for piece in encoder._pieces(questions[0].messages, 0)
    )
    # where a cut description ends in no white space, its chat is parted behind it
    beginnings = len(encoder._beginnings)
    assert beginnings < 10
    assert len(lengths) == 1 + 500 * 2 * pieces + beginnings
    assert sum(lengths) < 2 * len(text) + 500 * 4000


def test_cuts_fall_between_words() -> None:
    assert cut_place("a car, a carpet", 12) == 9
    assert cut_place("a car, a carpet", 15) == 15
    assert cut_place("a car a carpet", 5) == 5
    assert cut_place("x" * 200, 150) == 150


SCALE = {"1": (11, 12), "2": (20,)}


def test_rating_sums_variants_and_renormalises() -> None:
    rating = rating_from_logprobs(
        {11: math.log(0.1), 12: math.log(0.2), 20: math.log(0.3), 99: math.log(0.4)}, SCALE
    )
    assert isinstance(rating, Rating)
    assert rating.probabilities == pytest.approx({"1": 0.5, "2": 0.5})
    assert rating.mass == pytest.approx(0.6)
    assert rating.mean == pytest.approx(1.5)


def test_a_token_without_a_logprob_is_worth_nothing_and_just_enough_mass_is_enough() -> None:
    second = Rating({"1": 0.0, "2": 1.0}, 1.0)
    assert rating_from_logprobs({20: 0.0}, SCALE) == second
    assert rating_from_logprobs({11: -math.inf, 20: 0.0}, SCALE) == second
    rating = rating_from_logprobs({20: math.log(MIN_MASS * 1.01)}, SCALE)
    assert isinstance(rating, Rating)
    assert rating.probabilities["2"] == 1.0


@pytest.mark.parametrize(
    "logprobs",
    [
        {11: math.log(MIN_MASS / 2), 20: math.log(MIN_MASS / 4)},
        {},
        {11: -math.inf, 20: -math.inf},
        {11: math.nan, 20: -0.1},
        {11: math.inf, 20: -0.1},
        {11: 800.0},
    ],
)
def test_no_rating(logprobs: Any) -> None:
    failure = rating_from_logprobs(logprobs, SCALE)
    assert isinstance(failure, Failure)
    assert failure.status is Status.UNPARSED


WORDS = ["5", " 5", "3", "the", "12", "\uff15", "None", "4."]
FIVE = ("1", "2", "3", "4", "5")


@pytest.mark.parametrize(
    ("top", "mean"),
    [
        # the specification's example: (5 x .5 + 3 x .25) / .75
        ({0: 0.5, 2: 0.25, 3: 0.25}, 13 / 3),
        ({0: 0.3, 1: 0.2, 2: 0.25, 3: 0.25}, 13 / 3),  # "5" and " 5" add up
        # .5 % on digits at all: still a rating
        ({3: 0.98, 6: 0.015, 2: 0.004, 0: 0.001}, (3 * 4 + 5) / 5),
        ({4: 0.6, 2: 0.3, 3: 0.1}, (1 * 0.6 + 2 * 0.6 + 3 * 0.3) / 1.5),  # "12" counts for both
        ({7: 0.9, 3: 0.1}, 4.0),  # a digit within a token
    ],
)
def test_a_rating_from_the_likeliest_tokens_by_hand(top: Any, mean: Any) -> None:
    rating = rating_from_top({i: math.log(p) for i, p in top.items()}, WORDS, FIVE)
    assert isinstance(rating, Rating)
    assert rating.mean == pytest.approx(mean)
    assert sum(rating.probabilities.values()) == pytest.approx(1.0)


def test_the_likeliest_tokens_without_a_digit_are_no_rating() -> None:
    # a full-width 5; a padded vocabulary
    for top in ({3: -0.1, 6: -3.0}, {5: -0.1}, {}, {3: -0.1, len(WORDS): -3.0}):
        failure = rating_from_top(top, WORDS, FIVE)
        assert isinstance(failure, Failure)
        assert failure.status is Status.UNPARSED
