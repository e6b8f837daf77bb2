"""ImageInWords' votes (people's): five answers in words to five questions about two descriptions of
a picture.

    {"set": "DCI_Test", "example_id": "1", "side_iiw": "IIW", "side_other": "DCI", "question":
     "Hallucination", "answer": "IIW is marginally better", "length_iiw": 157, "length_other": null}

The "model" of a battle is a comparison and a question, "DCI_Test / DCI / Hallucination", seen from
IIW's side.
"""

from collections.abc import Sequence
from pathlib import Path

from experiments.agreement.vote_folder import Battle, Line, Once, Vote, VoteFolder, check_labels

ANSWERS = {"is substantially better": 2, "is marginally better": 1}
NEUTRAL = "Neutral"


def read(folder: Path, lines: Sequence[Line]) -> VoteFolder:
    """Reads the votes. The prompt is the example, which several questions share."""
    once, battles = Once("the vote on"), []
    for line in lines:
        comparison = f"{line.name('set')} / {line.name('side_other')}"
        question, example = line.name("question"), line.name("example_id")
        once(line, comparison, question, example)
        sides = {line.name("side_iiw"): 1, line.name("side_other"): -1}
        levels = {
            f"{name} {words}": sign * level
            for name, sign in sides.items()
            for words, level in ANSWERS.items()
        }
        label = line.get("answer", (str, type(None))) or ""
        vote = Vote({**levels, NEUTRAL: 0}.get(" ".join(label.split())), label)
        lengths = line.lengths("length_iiw", "length_other")
        battles.append(Battle(f"{comparison} / {question}", example, (vote,), lengths, comparison))
    labels = (NEUTRAL, *(f"SIDE {answer}" for answer in ANSWERS))
    check_labels(battles, labels, folder / "votes.jsonl")
    return VoteFolder("iiw_votes", "", tuple(battles))
