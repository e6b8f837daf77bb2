"""What looks like a failure of whoever was asked, and what only resembles one."""

import pytest

from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.text.no_answers import MISSING, in_a_sentence, no_answers

FAILURES = [
    "litellm.RateLimitError: Error code: 429 - slow down",
    "openai.APITimeoutError: Request timed out.",
    "google.api_core.exceptions.ResourceExhausted: 429 Quota exceeded",
    "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='x')",
    "grpc._channel._InactiveRpcError: <_InactiveRpcError of RPC that ended>",
    "torch.cuda.OutOfMemoryError: CUDA out of memory.", "KeyError: 'choices'",
    "ValueError('bad image')", "<class 'requests.exceptions.ReadTimeout'>",
    "API call failed: openai.BadRequestError: Error code: 400",
    "Unhandled exception: NullReferenceException",
    'Traceback (most recent call last):\n  File "a.py", line 3\nKeyError: 1',
    "java.net.SocketException: reset\n\tat java.net.X.read(Native.java:12)",
    'Exception in thread "main" java.lang.NullPointerException', "[Errno 111] Connection refused",
    "asyncio.exceptions.TimeoutError",
    "HTTPError('429 Client Error: Too Many Requests for url: x')", "Error: connection reset",
    "$ERROR$", "[ERROR]", "Error", "Connection error.", "API Error: overloaded",
    "An error occurred while processing your request.",
    "rpc error: code = Unavailable desc = closed", "Error code: 500 - {'error': {'message': 'x'}}",
    "HTTP/1.1 504 Gateway Timeout", "503 Service Unavailable", "Too Many Requests",
    "Internal Server Error", "Request failed with status code 401", "<Response [500]>",
    "<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>",
    "<html><body><h1>504 Gateway Time-out</h1></body></html>",
    '{"error": {"message": "Rate limit", "code": 429}}', "{'error': 'overloaded'}",
    '{"object": "error", "message": "too long", "code": 400}',
    '{"type": "error", "error": {"type": "overloaded_error"}}',
    '```json\n{"error": "bad picture"}\n```', '{"error": {"message": "the answer was cut he',
    *sorted(MISSING),
]  # fmt: skip
ANSWERS = [
    "A grey heron stands in shallow water.", "An error message fills the screen.",
    "The error is on the left of the screen.", "A blue screen shows error messages: five of them.",
    "The margin of error is small.", "Trial and error", "A mirror: round, with a red frame.",
    "Terror: the title of a film.", "No exceptions are made here.", "Room 404 is on the left.",
    "There are 429 people.", "Bus 500 stops at 404 Main Street.", "Highway 401 Exit", "500",
    "Timeout: the players rest on the bench.", "yes", "B", "None of them.", "Locked",
    '{"caption": "A heron.", "error": null}', '{"objects": ["a heron", "two boats"]}',
    "<html><head><title>A bird</title></head><body><p>A heron.</p></body></html>",
    "Caption: A heron. Error bars are shown in black.",
]  # fmt: skip
# what a sign shows is an answer where the row says so
SCREENS = [
    ("404 Not Found", ("404 Not Found",)),
    ("ValueError: invalid literal", ("a ValueError for an invalid literal",)),
    ("Error: disk full", ("The screen says error, the disk is full.",)), ("null", ("null",)),
]  # fmt: skip


def described(*texts: str) -> list[Sample]:
    """Rows whose references all differ."""
    samples = []
    for n, text in enumerate(texts):
        reference = f"A grey heron beside boat {n} and the door of house {n * 7}."
        samples.append(Sample("Describe.", text, references=(reference,)))
    return samples


def ids(samples: list[Sample]) -> list[str]:
    return [f"row {number}" for number in range(len(samples))]


def found_in(samples: list[Sample]) -> dict[str, int]:
    return {one.text: len(one.rows) for one in no_answers(samples, ids(samples))}


@pytest.mark.parametrize("text", FAILURES)
def test_a_failure_is_named_wherever_it_stands(text: str) -> None:
    samples = described("A heron.", f"  {text}\n", "A boat.")
    (found,) = no_answers(samples, ids(samples))
    assert found.rows == ("row 1",)
    assert found.why


@pytest.mark.parametrize("text", ANSWERS)
def test_an_answer_is_none(text: str) -> None:
    assert found_in(described("A heron.", text, "A boat.")) == {}


@pytest.mark.parametrize(("text", "expected"), SCREENS)
def test_a_text_that_its_row_expects_is_an_answer(text: str, expected: tuple[str, ...]) -> None:
    assert found_in([Sample("", text, references=expected)]) == {}
    assert found_in([Sample("", text, question="What is it?", answers=expected)]) == {}


FAILED = "Failed to obtain answer via API."
REPEATED = [
    FAILED, "Sorry, I can't help with that.",
    "I am unable to view pictures.", "{}", "Failed", "[no response]", "无法回答这个问题。", "A brown dog.",
]  # fmt: skip


@pytest.mark.parametrize("text", REPEATED)
def test_one_text_for_many_different_rows(text: str) -> None:
    good = [f"A grey heron beside boat {number}." for number in range(16)]
    assert found_in(described(*good, *[text] * 8)) == {text: 8}
    assert found_in(described(*good, *[text] * 2)) == {}


def test_the_answer_of_one_row_that_another_gets_is_no_answer_of_its_own() -> None:
    """As of a cache that returns one answer for all."""
    text = "A tall red kite flies here."
    references = [
        f"One {thing}{n}." for n in range(5) for thing in ("heron", "kettle", "door", "cup")
    ]
    references[3] = text
    samples = [Sample("", text, references=(reference,)) for reference in references]
    assert found_in(samples) == {text: 20}


def asked(*texts: str, last: str = "number 23") -> list[Sample]:
    """Rows with a question each, whose answers all differ."""
    answers = [*(f"number {number}" for number in range(23)), last]
    samples = []
    for number, (text, answer) in enumerate(zip(texts, answers, strict=True)):
        question = f"What is number {number}?\nA. a kettle\nB. a lamp"
        samples.append(Sample("", text, question=question, answers=(answer,)))
    return samples


@pytest.mark.parametrize("text", ["yes", "No.", "B", "(B)", "B.", "2", "a lamp", "None", "7.5"])
def test_short_answers_come_back(text: str) -> None:
    expected = "none" if text == "None" else "yes"
    assert found_in(asked(*[text] * 24, last=expected)) == {}


@pytest.mark.parametrize("text", ["nan", "$ERROR$", "None", "no answer was given", "[FAILED]"])
def test_short_failures_do_not(text: str) -> None:
    assert found_in(asked(*[text] * 8, *["a lamp"] * 16)) == {text: 8}


def test_equal_rows_have_equal_answers() -> None:
    sample = Sample("Describe.", "Two blue squares.", references=("Nothing alike.",))
    assert found_in([sample] * 10) == {}


def test_rows_that_expect_nothing_known_may_have_a_few_equal_answers() -> None:
    texts = [f"A heron and {number} boats." for number in range(20)]
    same = ["A bathroom with a toilet and a sink."]
    assert found_in([Sample("", text) for text in [*texts, *same * 4]]) == {}
    assert found_in([Sample("", text) for text in [*texts, *same * 8]]) == {same[0]: 8}


@pytest.mark.parametrize(("text", "rows"), [
    ("A grey heron beside a boat.", {}),  # it fits most of its rows
    # the comparison names what a model has learnt to say by another warning
    ("A tree.", {}), (FAILED, {FAILED: 24}),
])  # fmt: skip
def test_one_text_for_all_rows(text: str, rows: dict[str, int]) -> None:
    assert found_in(described(*[text] * 24)) == rows


def test_a_text_that_stands_out_among_texts_that_come_back() -> None:
    """As captions do: the most frequent one is not much more frequent than the next."""
    rare = [f"A brown dog stands on field {number}." for number in range(100)]
    often = ["A brown dog lies on a sofa."] * 6
    assert found_in(described(*rare, *often, *[FAILED] * 8)) == {}
    assert found_in(described(*rare, *[FAILED] * 4)) == {FAILED: 4}
    less = ["A brown dog eats a bone here."] * 5
    assert found_in(described(*rare, *often, *less)) == {}


def test_what_a_model_repeats_here_is_its_own() -> None:
    samples = described(*["Five brown dogs lie here."] * 24)
    assert no_answers(samples, ids(samples), repeated=False) == []


def test_a_sentence_names_the_text_how_often_and_where() -> None:
    samples = described("A heron.", "RateLimitError: request 1", "RateLimitError: request 2", "nan")
    found = no_answers(samples, ids(samples))
    told = in_a_sentence(found, 4, "answers")
    for words in ("3 of 4 answers", "'RateLimitError: request 1' (2,", "'row 1'", "'nan' (1,"):
        assert words in told
    assert in_a_sentence(found[1:], 4, "answers").startswith("1 of 4 answers looks")


@pytest.mark.parametrize("piece", ["a.", "{", "error ", "[", "<h1>"])
def test_a_long_text_is_read_in_linear_time(piece: str) -> None:
    assert found_in(described(piece * (100_000 // len(piece)))) == {}
