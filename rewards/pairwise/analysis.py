"""Analyse, then judge (MLLM-as-a-Judge, section 3.1): the judge writes what it sees in the texts before it decides.

    questions = after_analysis(judge, questions, prompts.answer, prompts)     # each now shows the judge's own analysis

Two steps: an analysis in words, then the same question with the analysis in front of how to answer. So the decision is
still one token, or one ranking, and never looked for in prose.
"""

from collections.abc import Sequence
from dataclasses import replace

from rewards.judges.judge import Failure, Judge, Question
from rewards.judges.shared.cached_judge import write_once
from rewards.pairwise.questions import PairPrompts
from rewards.templates import fill

ANALYSIS_TOKENS = 256


def after_analysis(
    judge: Judge, questions: Sequence[Question], answer: str, prompts: PairPrompts
) -> list[Question | Failure]:
    """The questions, in order, with an analysis of the judge's in each; a Failure where it wrote none.

    answer: with which the last message of every question ends, how to answer.
    """
    to_analyse = [replace(ending(question, answer, prompts.analyse), probe=None) for question in questions]
    written = write_once(judge, to_analyse, ANALYSIS_TOKENS)
    return [
        text
        if isinstance(text, Failure)
        else ending(question, answer, f"{fill(prompts.analysis, analysis=text.strip())}\n\n{answer}")
        for question, text in zip(questions, written, strict=True)
    ]


def ending(question: Question, old: str, new: str) -> Question:
    """The question with another end of its last message."""
    *others, last = question.messages
    return replace(question, messages=[*others, {**last, "content": last["content"].removesuffix(old) + new}])
