"""Long texts in other words: marks lie on what was changed, and texts say their facts."""

from collections.abc import Iterator
from random import Random

import pytest

from experiments.judging import long_texts
from experiments.judging.long_texts import Described, judged_by_people, sentence, written
from spanreward.training.experimental.judge_training.labelled_changes import Changes

OF_DOG = ("There is a dog.", "The dog is brown.", "It sits.")
OF_CAT = ("There is a cat.", "The cat is white.", "A table.")
OF_BUS = ("There is a bus.", "The bus is red.", "The street is wet.")
DOG = Described("1", "A brown dog on the grass beside two trees.", OF_DOG)
CAT = Described("2", "A white cat under a table near a dog.", OF_CAT)
BUS = Described("3", "A red bus on a street, and a cat.", OF_BUS)
PICTURES = {one.picture: one for one in (DOG, CAT, BUS)}


@pytest.mark.parametrize("seed", range(60))
def test_marks_lie_on_what_the_target_does_not_say(seed: int) -> None:
    captions = {name: (one.caption, *one.facts) for name, one in PICTURES.items()}
    changes = Changes(captions, Random(seed))
    row = written(DOG, changes, PICTURES)
    text, wrong = row["completion"], [row["completion"][s:e] for s, e in row["mistakes"]]
    assert all(words == words.strip() != "" for words in wrong)
    if row["reference"] != DOG.caption:  # beside half of its own facts
        said = [fact for fact in DOG.facts if fact in row["reference"]]
        assert row["reference"] == " ".join(said)
        assert text == " ".join(DOG.facts)
        unsaid = {word for word in ("dog", "brown", "sits") if word not in row["reference"]}
        assert set(wrong) == unsaid
    elif text == " ".join(DOG.facts):
        assert not wrong


@pytest.mark.parametrize(
    ("triple", "told"),
    [
        (("man", "wear", "hat"), "The man wears the hat."),
        (("people", "watch", "match"), "The people watches the match."),
        (("trees", "stand behind", "wall"), "The trees stand behind the wall."),
        (("wall", "is", "brick"), "The wall is brick."),
        (("leaves", "is", "green"), "The leaves are green."),
        (("glass", "on", "table"), "The glass is on the table."),
        (("flower", "have", "petals"), "The flower has petals."),
        (("road", "parallel to", "wall"), "The road is parallel to the wall."),
    ],
)
def test_a_triple_is_a_sentence(triple: tuple[str, str, str], told: str) -> None:
    assert sentence(*triple) == told


def test_peoples_facts_are_marked_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    def rows(*_: object) -> Iterator[dict[str, object]]:
        said = {"type": "conv", "output": "No."}, {"type": "detail", "output": "A young boy."}
        facts = [["There is a boy.", 1], ["There is a ramp.", 0]]
        yield {"image_id": 5, "references": ["A boy."], "gpt4_qa": said, "atomic_facts": facts}

    monkeypatch.setattr(long_texts, "read_set", rows)
    (row,) = judged_by_people(None)  # type: ignore[arg-type]  # nothing is read
    assert row["reference"] == "A boy. A young boy."
    assert [row["completion"][s:e] for s, e in row["mistakes"]] == ["There is a ramp."]
    assert row["image"] == "5"
