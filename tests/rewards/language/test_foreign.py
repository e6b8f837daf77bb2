"""Texts that a parser of English cannot read are told from English ones, and are warned of once."""

import logging

import pytest

from spanreward import MatchJudge, PoshReward, Sample, Status
from spanreward.rewards.language import foreign
from spanreward.rewards.language.foreign import is_foreign
from spanreward.rewards.language.parse import scene_graphs
from spanreward.rewards.language.pipeline import load_pipeline

FOREIGN = [
    "Ein Mann in einem roten Hemd sitzt auf einer Bank im Park. Neben ihm steht ein Hund.",
    "Un homme en chemise rouge est assis sur un banc dans le parc. À côté de lui se tient un chien.",
    "Un hombre con camisa roja está sentado en un banco del parque. A su lado hay un perro.",
    "Een man in een rood shirt zit op een bank in het park. Naast hem staat een hond.",
    "Mężczyzna w czerwonej koszuli siedzi na ławce w parku. Obok niego stoi pies.",
    "一个穿红衬衫的男人坐在公园的长椅上。旁边有一只狗。", "赤いシャツを着た男性が公園のベンチに座っています。",
    "Мужчина в красной рубашке сидит на скамейке в парке.",
    "लाल कमीज पहने एक आदमी पार्क में बेंच पर बैठा है।",
    "رجل يرتدي قميصًا أحمر يجلس على مقعد في الحديقة.",
]  # fmt: skip
ENGLISH = [
    "red circle blue square green triangle yellow star black line",
    "A sign that says 一个穿红衬衫的男人 hangs above the door of a shop.", "Two dogs.", "cat", "",
    "12 34 56 78 90 11 12",
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"), [*((t, True) for t in FOREIGN), *((t, False) for t in ENGLISH)]
)
def test_foreign_texts_are_told_from_english(text: str, expected: bool) -> None:
    assert is_foreign(text, load_pipeline()) is expected


def test_it_is_warned_of_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreign, "_warned_pipelines", set())
    with caplog.at_level(logging.WARNING):
        scene_graphs(["A dog sits on a bench in the park."])
        assert not caplog.records
        scene_graphs([FOREIGN[0], FOREIGN[1]])
        scene_graphs([FOREIGN[2]])
    (warning,) = caplog.messages
    assert "'Ein Mann" in warning
    assert "English" in warning


def test_a_reference_in_another_script_says_why_it_cannot_be_used() -> None:
    reward = PoshReward(MatchJudge())
    samples = [Sample("", "A dog.", references=(text,)) for text in (FOREIGN[5], "!")]
    chinese, empty = reward.assess(samples)
    assert chinese.status is empty.status is Status.NOT_APPLICABLE
    assert chinese.note == f"{empty.note}: the parser reads English"
