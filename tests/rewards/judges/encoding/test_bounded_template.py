"""A chat template that loops, grows or calls itself is one sentence. Those of known models pass."""

import time
from pathlib import Path
from typing import Any

import pytest
import trl

from spanreward.rewards.judges.encoding import bounded_template, rendering
from spanreward.rewards.judges.encoding.bounded_template import TRIAL_CHATS, check_template
from spanreward.rewards.judges.encoding.chat import ChatEncoder
from spanreward.rewards.judges.encoding.tokenizer_files import TokenizerFiles
from tests.support.tokenizer import TEMPLATE, tokenizer

TEMPLATES = sorted((Path(trl.__file__).parent / "chat_templates").glob("*.jinja"))
LOOPS = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"
TWICE = "{% macro m(x) %}{% if x %}{{ m(x - 1) }}{{ m(x - 1) }}{% endif %}{% endmacro %}{{ m(40) }}"
DOUBLING = (
    "{% set n = namespace(x='a') %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}"
)
SECONDS, MEMORY = "needs more than 1 s", "needs too much memory"
DEPTH, COUNT = "calls itself", "counts too far"
HOSTILE = {  # template, what is wrong with it
    "nested loops": (LOOPS, SECONDS),
    "after five messages": ("{% if messages | length > 5 %}" + LOOPS + "{% endif %}", SECONDS),
    "with tools": ("{% if tools %}" + LOOPS + "{% endif %}", SECONDS),
    "a macro twice": (TWICE, SECONDS),
    "a power": ("{{ 9 ** (9 ** 9) }}", SECONDS),
    "a long range": ("{% for i in range(10 ** 9) %}{% endfor %}", COUNT),
    "a long text": ("{{ 'a' * 10 ** 9 }}", MEMORY),
    "a wide text": ("{{ 'a' | center(10 ** 10) }}", MEMORY),
    "doubling": (DOUBLING, MEMORY),
    "a macro for ever": ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", DEPTH),
    "a loop for ever": ("{% for m in messages recursive %}{{ loop(messages) }}{% endfor %}", DEPTH),
    "nested": ("{{ " + "(" * 9999 + "1" + ")" * 9999 + " }}", DEPTH),
    "much": ("{% for i in range(99999) %}{{ 'a red star' * 2 }}{% endfor %}", "writes more than"),
    "long": ("a" * (1 << 21), "more than 1,048,576 characters"),
}


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a template use less than it may, so that a test takes a second and little memory."""
    monkeypatch.setattr(bounded_template, "MOST_SECONDS", 1)
    monkeypatch.setattr(bounded_template, "MOST_MEMORY", 1 << 27)


@pytest.mark.parametrize(("template", "fault"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_template_is_one_sentence(template: str, fault: str) -> None:
    with pytest.raises(ValueError, match=f"outputs/policy .*{fault}") as error:
        check_template("outputs/policy", template, {})
    assert "put another chat_template.jinja there" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("path", TEMPLATES, ids=[path.stem for path in TEMPLATES])
def test_a_template_of_a_known_model_passes(path: Path) -> None:
    bounds: dict[str, Any] = {"seconds": 0, "memory": 0, "characters": 100_000}
    trial: Any = {"template": path.read_text("utf-8"), "chats": TRIAL_CHATS, **bounds}
    assert rendering.trial_fault(trial) == ""


@pytest.mark.parametrize("template", [TEMPLATE, "{{ 1 + 'a' }}", "{% for %}", None])
def test_what_takes_little_passes_though_it_may_fail(template: str | None) -> None:
    check_template("outputs/policy", template, {"bos_token": "<s>"})


def test_all_templates_by_name_are_tried() -> None:
    with pytest.raises(ValueError, match="calls itself"):
        check_template("it", {"default": TEMPLATE, "tool_use": HOSTILE["a loop for ever"][0]}, {})


def test_a_template_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    template = "{{ messages }} once"
    check_template("one", template, {})
    monkeypatch.setattr(bounded_template, "RENDERING_FILE", Path("none.py"))
    check_template("another", template, {})
    with pytest.raises(RuntimeError, match=r"none\.py"):
        check_template("another", template + " more", {})


def test_a_process_that_is_never_served_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_template, "MOST_WAITING", 0.01)
    with pytest.raises(ValueError, match=r"does not end within 0.01 s"):
        check_template("it", "{{ messages }} never", {})


def test_a_judge_is_refused_before_it_is_asked(tmp_path: Path) -> None:
    words = tokenizer(HOSTILE["nested loops"][0])
    words.save_pretrained(tmp_path)
    begun = time.monotonic()
    with pytest.raises(ValueError, match=f"{tmp_path} {SECONDS}"):
        ChatEncoder(TokenizerFiles(tmp_path))
    assert time.monotonic() - begun < bounded_template.MOST_WAITING


def test_a_template_that_waits_for_a_judges_own_chat() -> None:
    waiting = "{% if 'slot' in messages[0].content %}" + LOOPS + "{% endif %}"
    encoder = ChatEncoder(tokenizer(waiting))
    with pytest.raises(ValueError, match=SECONDS):
        encoder.encode([{"role": "user", "content": "Rate it."}])


def test_whatever_a_template_raises_is_one_sentence() -> None:
    encoder = ChatEncoder(tokenizer("{{ 1 + messages[0].content }}"))
    with pytest.raises(ValueError, match="the roles user: unsupported"):
        encoder.encode([{"role": "user", "content": "Rate it."}])
