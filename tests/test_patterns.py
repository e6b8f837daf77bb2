"""Every regular expression of the package takes time that grows as the text does, on the texts that
make it slowest: 4,045 bytes once stopped a service.

Steps are counted (tests/support/regex_steps.py), so that no clock decides. The texts are made from
the expressions themselves (tests/support/pumped.py), so that a new expression is tried too. A
pattern whose repeats are bounded may read each character as often as the bound says.
"""

import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from tokenizers import AddedToken

from spanreward.rewards.experimental.differences import listed
from spanreward.rewards.judges import written_rating
from spanreward.rewards.judges.encoding import chat
from spanreward.rewards.judges.remote import request_form
from spanreward.rewards.lave import answer, compared, options
from spanreward.rewards.rows import delimited
from spanreward.rewards.text import judged_part, quoting, tool_calls
from spanreward.training import trainer_settings
from spanreward.training.data import marks
from tests.support.patterns import (
    Recorder,
    Use,
    builders,
    kept_patterns,
    module_of,
    modules_with_patterns,
    written_patterns,
)
from tests.support.pumped import Pumped, pumped_texts
from tests.support.regex_steps import Machine
from tests.support.tokenizer import tokenizer

LENGTHS = (64, 256, 1024)  # a bound below the last one is no growth
GROWTH = 2.3  # times the steps for twice the length
MOST = 1000  # steps a character
# `match` is called where it is handed to, or its one match is that at the start of the text
HANDED_TO_MATCH = {
    "rewards.lave.answer:DEFAULT_RULES", "rewards.lave.answer:PUBLISHED_RULES",
    "rewards.lave.trimming:DEFAULT_EDGES", "rewards.lave.trimming:PUBLISHED_EDGES",
    "rewards.judges.written_rating:_RATING_UNIT", "rewards.judges.written_rating:_BEFORE_LONE_RATING",
}  # fmt: skip


GPT = {"model": "gpt-4.1", "max_tokens": 1, "logprobs": 20}


def answers_of_all_kinds() -> None:
    for kinds in (answer.DEFAULT_RULES, answer.PUBLISHED_RULES):
        for patterns in kinds.kinds.values():
            for pattern in patterns:
                answer._matches_of_surest([pattern], "none of it")


def chat_with_wide_tokens() -> None:
    taught = tokenizer()
    taught.add_tokens([AddedToken("<mask>", lstrip=True, rstrip=True, special=True)])
    chat.ChatEncoder(taught)


def called_tool() -> None:
    opened = tool_calls._CALL_START.search("<tool_call>{")
    assert opened is not None
    tool_calls._end_of_call("<tool_call>{", opened, 11)


def marks_of_all_kinds() -> None:
    lines = ("<text>", "[Text ends]", "[Text {number} ends]", "END OF TEXT", "Is it so or not?")
    quoting.marks_in.__wrapped__("---", *lines)


# Calls that reach what a function builds.
BUILT: dict[str, Callable[[], Any]] = {
    "rewards.experimental.differences.listed:find_words": lambda: listed.find_words(
        ["a", "red", "kite"], "a red kite", range(10)
    ),
    "rewards.judges.encoding.plain_tokenizer:added_token_pattern": chat_with_wide_tokens,
    "rewards.judges.remote.request_form:_named_field": lambda: request_form._named_field(
        GPT, "unknown parameter of the model"
    ),
    "rewards.judges.remote.request_form:_with_other_base": lambda: request_form._with_other_base(
        request_form.RequestForm(""), GPT, request_form.Refused(404, "no such path"), "/v1"
    ),
    "rewards.judges.written_rating:_is_list_mark": lambda: written_rating._is_list_mark("2.", 0),
    "rewards.lave.answer:kind_of": lambda: answer.kind_of(["a kite"]),
    "rewards.lave.answer:_matches_of_surest": answers_of_all_kinds,
    "rewards.lave.compared:_claim_as_word": lambda: compared._claim_as_word(
        "it is", ["yes"], "is it?"
    ),
    "rewards.lave.options:_without_texts": lambda: options._without_texts("?", {"C": "A and B"}),
    "rewards.lave.options:_labels_of": lambda: [
        options._labels_of("?", {label: "kite"}) for label in ("A", "1")
    ],
    "rewards.lave.options:labels_in": lambda: options.labels_in("?", {"A": "kite"}),
    "rewards.rows.delimited:_are_rows": lambda: delimited._are_rows(["a,b"], ",", 2),
    "rewards.text.judged_part:_tag_and_key_patterns": lambda: (
        judged_part._tag_and_key_patterns.__wrapped__("an answer")
    ),
    "rewards.text.quoting:_mark_of": marks_of_all_kinds,
    "rewards.text.tool_calls:_end_of_call": called_tool,
    "training.trainer_settings:needed_packages": lambda: list(
        trainer_settings.needed_packages({"optim": "adamw_bnb_8bit"})
    ),
    "training.data.marks:whole_words": lambda: marks.whole_words("red kite", "a red kite"),
}
# Its patterns are tried below, each by how it is used.
READER = "rewards.judges.written_rating:__init__"
MATCHED = ("entry", "link")  # the others are searched for
# These are a user's own, which read at most MOST_SEARCHED_CHARACTERS characters.
USERS = {"rewards.text.judged_part:check_part", "rewards.text.judged_part:_compiled_expression"}
# Words of captions that training draws, joined by "|".
WORDS = {"training.experimental.judge_training.labelled_changes:_unsure_marks"}


def slowest(pattern: re.Pattern[Any], anchored: bool) -> Pumped | None:
    """Returns a text whose steps grow faster than it does, None where there is none."""
    machine = Machine(pattern)
    for pumped in pumped_texts(pattern):
        if all(grows(machine, pumped, length, anchored) for length in LENGTHS):
            return pumped
    return None


def grows(machine: Machine, pumped: Pumped, length: int, anchored: bool) -> bool:
    most = MOST * length
    before = machine.steps(pumped.text(length), anchored, most)
    if before <= 3 * length:
        return False
    after = machine.steps(pumped.text(2 * length), anchored, most)
    return after > most or after > GROWTH * before


def slow_ones(uses: list[Use]) -> list[tuple[str, str, Pumped]]:
    slow = []
    for use in uses:
        anchored = use.anchored or use.where in HANDED_TO_MATCH
        pumped = slowest(use.pattern, anchored)
        if pumped is not None:
            slow.append((use.where, str(use.pattern.pattern), pumped))
    return slow


@pytest.mark.parametrize("name", modules_with_patterns())
def test_a_pattern_takes_linear_time(name: str) -> None:
    uses = [*kept_patterns(name), *written_patterns(name)]
    assert slow_ones(uses) == []


@pytest.mark.parametrize("where", BUILT)
def test_a_built_pattern_takes_linear_time(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder()
    monkeypatch.setattr(module_of(where.partition(":")[0]), "re", recorder)
    BUILT[where]()
    assert recorder.uses
    uses = [Use(where, pattern, anchored) for pattern, anchored in recorder.uses]
    assert slow_ones(uses) == []


def test_all_that_build_patterns_are_called_here() -> None:
    names: set[str] = set()
    for name in modules_with_patterns():
        names |= builders(name)
    assert names == BUILT.keys() | USERS | WORDS | {READER}


@pytest.mark.parametrize("scale", [("1", "2", "3"), ("Text A", "Text B", "tie")])
def test_the_patterns_of_a_scale_take_linear_time(scale: tuple[str, ...]) -> None:
    uses = []
    for name, pattern in vars(written_rating._Reader(scale)).items():
        if isinstance(pattern, re.Pattern):
            uses.append(Use(f"{READER}:{name}", pattern, name in MATCHED))
    assert len(uses) == 4
    assert slow_ones(uses) == []


@pytest.mark.parametrize(
    ("pattern", "anchored", "slow"),
    [
        (r"\[\s*\[?\s*\{?\s*['\"]", True, True),  # the one of the 4,045 bytes
        (r"(?:a+)+b", True, True),
        (r"\s*\n\s*x", True, True),
        (r"\s+$", False, True),
        (r"<!--.*?-->", False, True),
        (r"(?:_|\w|\w\w)*!", True, True),
        (r"^\W*Traceback", False, True),
        (r"\([^)]*\)", False, True),
        (r"\[\s*+\[?+\s*+\{?+\s*+['\"]", True, False),
        (r"(?>a+)+b", True, False),
        (r"[^\S\n]*+\n\s*+x", True, False),
        (r"(?<!\s)\s++$", False, False),
        (r"<!--.*?(?:-->|\Z)", False, False),
        (r"\w{1,60}!", False, False),
        (r"(\w)\1x", False, False),
    ],
)
def test_slow_patterns_are_told_from_linear_ones(pattern: str, anchored: bool, slow: bool) -> None:
    compiled = re.compile(pattern, re.MULTILINE | re.DOTALL)
    assert (slowest(compiled, anchored) is not None) is slow


@pytest.mark.parametrize(
    "pattern",
    [
        r"a*b", r"(a|b)*c", r"(?:a+)+b", r"(?<!x)a{2,3}?b|(b)\1", r"(?>a*)ab", r"(?:ab)*+a", r"^a$",
        r"(?i)A(?=b)", r"(?=(a+))\1b", r"(?:a?|b){0,3}c", r"(?:)*b", r"(?<=a)b+",
        r"a(?!b)[^c]*c",
    ],
)  # fmt: skip
def test_the_counter_matches_what_re_matches(pattern: str) -> None:
    drawn = random.Random(0)
    compiled = re.compile(pattern, re.MULTILINE)
    machine = Machine(compiled)
    for _ in range(300):
        text = "".join(drawn.choices("abcx\nB", k=drawn.randrange(9)))
        for start in range(len(text) + 1):
            match = compiled.match(text, start)
            machine.count = 0
            assert machine.run(text, start, 100_000) == (match and match.end())


def test_steps_are_those_of_backtracking() -> None:
    counts = [Machine(re.compile(r"a*b")).steps("a" * n, False, 10**6) for n in (100, 200)]
    assert 3.9 < counts[1] / counts[0] < 4.1
    counts = [Machine(re.compile(r"a*+b")).steps("a" * n, True, 10**6) for n in (100, 200)]
    assert 1.9 < counts[1] / counts[0] < 2.1
