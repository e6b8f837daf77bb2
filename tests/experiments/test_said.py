"""The words of an answer that the context does not have."""

from experiments.said import Said, marked
from spanreward import Sample

PEOPLE = "A woman in an orange outfit plays tennis. Two girls are running."


def judge(text: str) -> tuple[float | None, float, list[str]]:
    verdict = Said().assess([Sample(prompt="", completion=text, context=PEOPLE)])[0]
    return (
        verdict.score,
        verdict.parts["words"],
        [text[span.start : span.end] for span in verdict.spans],
    )


def test_words_are_compared_by_their_lemmas() -> None:
    assert judge("The girl ran.") == (1.0, 1.0, [])


def test_a_word_that_nobody_said_is_marked() -> None:
    assert judge("A woman in a blue outfit plays tennis.") == (0.0, 0.8, ["blue"])


def test_an_answer_without_words_has_none_of_its_own() -> None:
    assert judge("") == (1.0, 1.0, [])


def test_completions_of_a_training_are_marked_for_labels() -> None:
    line = {"step": 1, "id": "7", "prompt": "Say.", "completion": "Two cats run."}
    line |= {"reference": ["Girls."]}
    assert list(marked([line], {"Say.": PEOPLE})) == [
        {"id": "7", "completion": "Two cats run.", "reference": ["Girls."], "mistakes": [[4, 8]]}
    ]
