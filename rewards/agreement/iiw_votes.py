"""ImageInWords' votes (people's): five answers in words to five questions about two descriptions of a picture.

    {"set": "DCI_Test", "example_id": "1", "side_iiw": "IIW", "side_other": "DCI", "question": "Hallucination",
     "answer": "IIW is marginally better", "length_iiw": 157, "length_other": null}

What is called the model is a comparison and a question, "DCI_Test / DCI / Hallucination", seen from IIW's side.
"""

from collections.abc import Sequence
from pathlib import Path

from rewards.agreement.vote_folder import Battle, Line, Once, Vote, VoteFolder, check_vocabulary, label_of

ANSWERS = {"is substantially better": 2, "is marginally better": 1}
NEUTRAL = "Neutral"


def read(folder: Path, lines: Sequence[Line]) -> VoteFolder:
    """The votes; the prompt is the example, which several questions share."""
    once, battles = Once("the vote on"), []
    for line in lines:
        comparison = f"{line.name('set')} / {line.name('side_other')}"
        question, example = line.name("question"), line.name("example_id")
        once(line, comparison, question, example)
        sides = {line.name("side_iiw"): 1, line.name("side_other"): -1}
        label = label_of(line.get("answer", (str, type(None))), line.where) or ""
        vote = Vote(level_of(label, sides), label)
        lengths = line.lengths("length_iiw", "length_other")
        battles.append(Battle(f"{comparison} / {question}", example, (vote,), lengths, comparison))
    path = folder / "votes.jsonl"
    check_vocabulary(
        (vote for battle in battles for vote in battle.votes), (NEUTRAL, *(f"SIDE {a}" for a in ANSWERS)), path
    )
    return VoteFolder("iiw_votes", "", tuple(battles))


def level_of(label: str, sides: dict[str, int]) -> int | None:
    """From -2 to 2, seen from IIW's side; None for none of the five answers."""
    levels = {f"{name} {words}": sign * level for name, sign in sides.items() for words, level in ANSWERS.items()}
    return {**levels, NEUTRAL: 0}.get(" ".join(label.split()))
