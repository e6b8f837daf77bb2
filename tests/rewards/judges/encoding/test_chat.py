"""Chats as token ids: completions are data, entries whole tokens, bad numbers no rating."""

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from spanreward import Question, Rating, Status
from spanreward.rewards.judges.encoding.chat import (
    LONGEST_WORD,
    MIN_MASS,
    ChatEncoder,
    cut_place,
    rating_from_logprobs,
    rating_from_top,
)
from tests.support.tokenizer import ENCODER, tokenizer


def ask(content: str) -> list[int]:
    return ENCODER.encode([{"role": "user", "content": content}])


@pytest.mark.parametrize("roles", ["user", "system user", "user assistant " * 5 + "user"])
def test_harmless_chats_are_encoded_as_ever(roles: str) -> None:
    usual = [{"role": role, "content": f"Rate:\n\n{n} 2 3"} for n, role in enumerate(roles.split())]
    expected = ENCODER.tokenizer.apply_chat_template(
        usual, add_generation_prompt=True, enable_thinking=False, return_dict=False
    )
    assert ENCODER.encode(usual) == expected


@pytest.mark.parametrize(
    "text", ["a    b", "    ", "x\n        y  <think>   z", "<|im_end|>    <|im_start|>"]
)
def test_white_space_keeps_its_tokens(text: str) -> None:
    """The tokenizer has four spaces as an added token, after the control tokens and `<think>`."""
    assert ENCODER.tokenizer.decode(ask(text)) == (
        f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
    )
    spaces = ENCODER.tokenizer.convert_tokens_to_ids("    ")
    assert spaces in ask(text)
    control = set(ENCODER.tokenizer.added_tokens_decoder) - {spaces}
    frame, shown = ([n for n in ask(one) if n in control] for one in ("x", text))
    assert shown == frame


def test_roles_and_templates_that_are_refused() -> None:
    with pytest.raises(ValueError, match="the roles tool: no tools"):
        ENCODER.encode([{"role": "tool", "content": "x"}])
    loses = ChatEncoder(tokenizer("{{ messages[-1].content }}"))
    with pytest.raises(ValueError, match="system, user once"):
        loses.encode([{"role": "system", "content": "x"}, {"role": "user", "content": "y"}])


def test_scale_entries_are_whole_tokens() -> None:
    for entry, ids in ENCODER.token_ids_by_entry(("1", "5", "10")).items():
        assert set(ENCODER.tokenizer.convert_ids_to_tokens(ids)) == {entry, f"Ġ{entry}"}
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
    assert ENCODER.fit(question, len(whole) - 1)[1] > 0


LONG = ["the answer is 5. " * 300, "Rate " * 900, "赤い丸が青い。" * 200]
LONG += ["👩‍👩‍👧 🟥 " * 200, "x" * 3000]


@pytest.mark.parametrize("text", LONG, ids=range(len(LONG)))
def test_of_what_is_too_long_the_descriptions_end_is_cut(text: str) -> None:
    asked = "Is it so or not so, in the words of the TEXT?"
    question = about(text, asked)
    ids, cut = ENCODER.fit(question, 400)
    assert 400 - LONGEST_WORD - 4 <= len(ids) <= 400
    kept = text[: len(text) - cut]
    assert 0 < len(kept) < len(text)
    whole = ENCODER.tokenizer.decode(ENCODER.encode(question.messages))
    shown = ENCODER.tokenizer.decode(ids)
    assert shown == whole.replace(text, kept, 1)
    assert "\ufffd" not in shown
    assert len(ids) > len(ENCODER.encode(about("", asked).messages))
    assert ENCODER.fit(question, 401)[1] <= cut


def test_an_earlier_message_is_not_cut() -> None:
    text = "the answer is 5 " * 20
    shown = [{"role": "user", "content": text}, {"role": "assistant", "content": "5"}]
    question = about(text)
    chat = replace(question, messages=[*shown, *question.messages])
    ids, cut = ENCODER.fit(chat, len(ENCODER.encode(chat.messages)) - 30)
    assert cut > 0
    before = ENCODER.encode([*shown, {"role": "user", "content": "Rate the TEXT.\n\nTEXT:\n"}])
    # the last turn's end is not shared
    opened = before.index(ENCODER.tokenizer.convert_tokens_to_ids("<think>")) - 8
    assert ids[:opened] == before[:opened]


def test_a_question_that_does_not_fit_by_itself_is_refused() -> None:
    words = "the answer is 5 " * 100
    for question in (about("A red circle.", words), Question(about("", words).messages)):
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

    together = [fitted(question) for question in ENCODER.encode_ahead(questions, budget)]
    assert together == list(map(fitted, questions))


def test_texts_are_encoded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = ChatEncoder(tokenizer())
    questions = [about(f"A red circle {number}.") for number in range(600)]
    alone = [encoder.encode(question.messages) for question in questions]
    assert encoder.join_place is not None  # finding it encodes texts of its own
    monkeypatch.setattr(encoder._plain, "encode", None)
    ahead = encoder.encode_ahead(questions, 300)
    assert [encoder.fit(question, 300)[0] for question in ahead] == alone


def test_cuts_fall_between_words() -> None:
    text = "a car, a carpet"
    assert [cut_place(text, end) for end in (12, 15, 6)] == [9, 15, 6]
    assert cut_place("x" * 200, 150) == 150


SCALE = {"1": (11, 12), "2": (20,)}


def test_rating_sums_variants_and_renormalises() -> None:
    shares = {11: 0.1, 12: 0.2, 20: 0.3, 99: 0.4}
    rating = rating_from_logprobs({i: math.log(p) for i, p in shares.items()}, SCALE)
    assert rating.probabilities == pytest.approx({"1": 0.5, "2": 0.5})
    assert rating.mass == pytest.approx(0.6)
    assert rating.mean == pytest.approx(1.5)


def test_a_token_without_a_logprob_is_worth_nothing_and_just_enough_mass_is_enough() -> None:
    second = Rating({"1": 0.0, "2": 1.0}, 1.0)
    assert rating_from_logprobs({20: 0.0}, SCALE) == second
    assert rating_from_logprobs({11: -math.inf, 20: 0.0}, SCALE) == second
    rating = rating_from_logprobs({20: math.log(MIN_MASS * 1.01)}, SCALE)
    assert rating.probabilities["2"] == 1.0


NONE: list[Any] = [{11: math.log(MIN_MASS / 2), 20: math.log(MIN_MASS / 4)}, {}, {11: 800.0}]
NONE += [{11: value, 20: -0.1} for value in (math.nan, math.inf)] + [{11: -math.inf}]


@pytest.mark.parametrize("logprobs", NONE, ids=str)
def test_no_rating(logprobs: Any) -> None:
    assert rating_from_logprobs(logprobs, SCALE).status is Status.UNPARSED


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
    assert rating.mean == pytest.approx(mean)
    assert sum(rating.probabilities.values()) == pytest.approx(1.0)


# a full-width 5; a padded vocabulary
@pytest.mark.parametrize("top", [{3: -0.1, 6: -3.0}, {5: -0.1}, {}, {3: -0.1, len(WORDS): -3.0}])
def test_the_likeliest_tokens_without_a_digit_are_no_rating(top: dict[int, float]) -> None:
    assert rating_from_top(top, WORDS, FIVE).status is Status.UNPARSED
