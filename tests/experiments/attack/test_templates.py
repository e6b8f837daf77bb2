"""Hostile chat templates are refused in a sentence, and a harmless one is read."""

from pathlib import Path

import pytest

from experiments.attack import templates


def test_hostile_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(templates, "TEMPLATES", templates.TEMPLATES[6:8])
    assert templates.chat_templates() == {
        "2 hostile chat templates: a sentence": 2,
        "2 hostile chat templates: a traceback": 0,
        "2 hostile chat templates: no end within 20 s": 0,
    }


def test_a_harmless_template_is_read(tmp_path: Path) -> None:
    templates.write_model(tmp_path, templates.CHAT)
    assert templates.outcome_of(str(tmp_path)) == "3 ids"


def test_what_fails_and_what_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(templates, "SECONDS", 1.0)
    monkeypatch.setattr(templates, "READING", "import time; time.sleep(9)")
    assert templates.outcome_of("folder") == "no end within 1 s"
    monkeypatch.setattr(templates, "READING", "raise KeyError('content')")
    monkeypatch.setattr(templates, "SECONDS", 60.0)
    assert templates.outcome_of("folder") == "a traceback"
