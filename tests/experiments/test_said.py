"""The words of an answer that the context does not have."""

from experiments.said import Said, marked
from spanreward import Sample

PEOPLE = "A woman in an orange outfit plays tennis. Two girls are running."


def judge(text: str) -> tuple[float | None, float, list[str]]:
    verdict = Said().assess([Sample(prompt="", completion=text, context=PEOPLE)])[0]
    marked_ = [text[span.start : span.end] for span in verdict.spans]
    return verdict.score, verdict.parts["words"], marked_


def test_words_that_nobody_said_are_marked_and_compared_by_their_lemmas() -> None:
    assert judge("The girl ran.") == judge("") == (1.0, 1.0, [])
    assert judge("A woman in a blue outfit plays tennis.") == (0.0, 0.8, ["blue"])


def test_completions_of_a_training_are_marked_for_labels() -> None:
    row = {"id": "7", "completion": "Two cats run.", "reference": ["Girls."]}
    line = {**row, "step": 1, "prompt": "Say."}
    assert list(marked([line], {"Say.": PEOPLE})) == [{**row, "mistakes": [[4, 8]]}]
