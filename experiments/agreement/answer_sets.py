"""Questions with people's answers, read from disk: one frozen record per question (see
caption_sets.py).
"""

from dataclasses import dataclass
from pathlib import Path

from experiments.agreement.caption_sets import read_set

SYSTEMS = ("fid", "gpt35", "chatgpt", "gpt4", "newbing")
VOTES = {"true": "yes", "false": "no"}


@dataclass(frozen=True, slots=True)
class JudgedAnswers:
    """EVOUNA: a question, its right answers, and (system, answer, whether people found it
    right).
    """

    question: str
    answers: tuple[str, ...]
    judged: tuple[tuple[str, str, bool], ...]


@dataclass(frozen=True, slots=True)
class ChoiceQuestion:
    """A-OKVQA: ten people's answers, and four choices of which number `right` is the right one."""

    question: str
    answers: tuple[str, ...]
    choices: tuple[str, ...]
    right: int


@dataclass(frozen=True, slots=True)
class VotedSentence:
    """NLVR: a sentence that is true of a picture or not, and five people's votes: "yes", "no", or
    "nonsense".
    """

    sentence: str
    true: bool
    votes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """VizWiz: ten people's answers. kind: other, unanswerable, yes/no or number."""

    question: str
    answers: tuple[str, ...]
    kind: str


def load_evouna(folder: Path) -> list[JudgedAnswers]:
    """Answers that are null in the source are left out."""
    return [
        JudgedAnswers(
            row["question"],
            tuple(row["golden_answer"].split("/")),
            tuple(
                (system, row[f"answer_{system}"], bool(row[f"judge_{system}"]))
                for system in SYSTEMS
                if row[f"answer_{system}"] is not None
            ),
        )
        for row in read_set(folder, "evouna_nq", "evouna_nq.jsonl")
    ]


def load_aokvqa(folder: Path) -> list[ChoiceQuestion]:
    return [
        ChoiceQuestion(
            row["question"],
            tuple(row["direct_answers"]),
            tuple(row["choices"]),
            row["correct_choice_idx"],
        )
        for row in read_set(folder, "aokvqa", "aokvqa_val.jsonl")
    ]


def load_nlvr(folder: Path) -> list[VotedSentence]:
    return [
        VotedSentence(
            row["sentence"],
            row["label"] == "true",
            tuple(VOTES.get(vote, vote) for vote in row["votes"].values()),
        )
        for row in read_set(folder, "nlvr_dev", "nlvr_dev.jsonl")
    ]


def load_vizwiz(folder: Path) -> list[OpenQuestion]:
    return [
        OpenQuestion(
            row["question"],
            tuple(entry["answer"] for entry in row["answers"]),
            row["question_type"],
        )
        for row in read_set(folder, "vizwiz_val", "vizwiz_val.jsonl")
    ]
