"""What tokenizers leave in a text is no part of it."""

import pytest

from spanreward.rewards.text.written import read_text

TEXT = "A grey heron stands. It waits."


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace(" ", "\u0120"), "\u0120" + TEXT.replace(" ", "\u0120") + "\u010a",
        TEXT.replace(" ", "\u2581"), "\u2581" + TEXT.replace(" ", "\u2581") + "</s>",
        "<|im_start|>assistant\u010a" + TEXT.replace(" ", "\u0120") + "<|im_end|>\u010a",
        f"<unused94>thought\nA stork?\n<unused95>{TEXT}", f"<unused12>{TEXT}",
        f"{TEXT}[UNUSED_TOKEN_145]", f"{TEXT}[UNUSED_TOKEN_145]\n[UNUSED_TOKEN_146]user\nA stork?",
        f"[UNUSED_TOKEN_146]assistant\n{TEXT}[UNUSED_TOKEN_145]\n",
        f"<|reserved_special_token_5|>{TEXT}<extra_id_0>", f"<fim_prefix>{TEXT}<fim_suffix>",
        f"<reserved_106>{TEXT}<pad><pad>",
    ],
)  # fmt: skip
def test_tokens_say_nothing(text: str) -> None:
    reading = read_text(text)
    assert reading.plain.strip() == TEXT
    start, end = reading.written(reading.plain.index("grey"), reading.plain.index("grey") + 4)
    assert text[start:end] == "grey"


@pytest.mark.parametrize(
    "text",
    [
        "The flag of \u0120or\u0121 hangs on a wall by the \u0120nien.",  # Maltese
        "\u0120or\u0121", "\u2581\u2582\u2583\u2585",
        "A fill-in line: \u2581\u2581 and more words beside it than signs.",
        "<unused94>" + TEXT + "<unused95> It flies.",
    ],
)  # fmt: skip
def test_signs_of_people_stay(text: str) -> None:
    assert read_text(text).plain == text.replace("<unused94>", "").replace("<unused95>", "")


def test_letters_that_stand_for_bytes_are_read() -> None:
    text = "The\u0120caf\u00c3\u00a9\u0120is\u0120Ann\u00e2\u0122\u013bs.\u010aIt\u0120waits."
    assert read_text(text).plain == "The caf\u00e9 is Ann\u2019s.\nIt waits."


def test_thoughts_without_an_end_say_nothing() -> None:
    reading = read_text("<unused94>thought\nIt may be a stork.")
    assert reading.plain == ""
    assert [kind for _, _, kind in reading.unread] == ["reasoning"]
