"""What looks like a failure of whoever was asked, and what only resembles one."""

import pytest

from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.text.no_answers import TEXTS_OF_MISSING, in_a_sentence, no_answers

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
    *sorted(TEXTS_OF_MISSING),
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
    *(piece * 99 for piece in ("a.", "{", "error ", "[", "<h1>")),
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


def asked(*texts: str, last: str = "number 23") -> list[Sample]:
    """Rows with a question each, whose answers all differ."""
    answers = [*(f"number {number}" for number in range(23)), last]
    samples = []
    for number, (text, answer) in enumerate(zip(texts, answers, strict=True)):
        question = f"What is number {number}?\nA. a kettle\nB. a lamp"
        samples.append(Sample("", text, question=question, answers=(answer,)))
    return samples


def of_a_cache() -> list[Sample]:
    """One answer for all rows, which is that of one of them."""
    references = ["A tall red kite flies here.", *(f"One heron{n}." for n in range(9))]
    references += [f"One kettle{n}." for n in range(10)]
    return [Sample("", references[0], references=(reference,)) for reference in references]


BOATS = [f"A grey heron beside boat {number}." for number in range(16)]
FIELDS = [f"A brown dog stands on field {number}." for number in range(100)]
SOFA, BONE = "A brown dog lies on a sofa.", "A brown dog eats a bone here."
KITE, SINK = "A tall red kite flies here.", "A bathroom with a toilet and a sink."
FAILED = "Failed to obtain answer via API."
COME_BACK = "yes|No.|B|(B)|B.|2|a lamp|7.5"
DO_NOT = "nan|$ERROR$|None|no answer was given|[FAILED]"
REPEATED = f"{FAILED}|Sorry, I can't help with that.|I am unable to view pictures.|{{}}|Failed"
REPEATED += "|[no response]|无法回答这个问题。|A brown dog."
ROWS = [
    *(([Sample("", text, references=expected)], {}) for text, expected in SCREENS),
    *(([Sample("", text, question="Q?", answers=expected)], {}) for text, expected in SCREENS),
    *((described(*BOATS, *[text] * 8), {text: 8}) for text in REPEATED.split("|")),
    *((described(*BOATS, *[text] * 2), {}) for text in REPEATED.split("|")),
    *((asked(*[text] * 24, last="yes"), {}) for text in COME_BACK.split("|")),
    (asked(*["None"] * 24, last="none"), {}),
    *((asked(*[text] * 8, *["a lamp"] * 16), {text: 8}) for text in DO_NOT.split("|")),
    ([Sample("Describe.", "Two squares.", references=("Nothing alike.",))] * 10, {}),  # equal rows
    (of_a_cache(), {KITE: 20}),
    # rows that expect nothing known may have a few equal answers
    ([Sample("", text) for text in [*BOATS, *FIELDS[:4], *[SINK] * 4]], {}),
    ([Sample("", text) for text in [*BOATS, *FIELDS[:4], *[SINK] * 8]], {SINK: 8}),
    (described(*["A grey heron beside a boat."] * 24), {}),  # it fits most of its rows
    # the comparison names what a model has learnt to say by another warning
    (described(*["A tree."] * 24), {}), (described(*[FAILED] * 24), {FAILED: 24}),
    # as captions do, the most frequent one is not much more frequent than the next
    (described(*FIELDS, *[SOFA] * 6, *[FAILED] * 8), {}),
    (described(*FIELDS, *[FAILED] * 4), {FAILED: 4}),
    (described(*FIELDS, *[SOFA] * 6, *[BONE] * 5), {}),
]  # fmt: skip


@pytest.mark.parametrize(("samples", "found"), ROWS, ids=range(len(ROWS)))
def test_one_text_for_many_rows(samples: list[Sample], found: dict[str, int]) -> None:
    assert found_in(samples) == found


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
