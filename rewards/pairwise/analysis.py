"""Analyse, then judge (MLLM-as-a-Judge, section 3.1): the judge writes an analysis before it decides.

    questions = after_analysis(judge, questions, prompts.answer, prompts)     # each now shows the judge's own analysis

The judge first writes the analysis. Then it gets the same question with its analysis. So the decision is still one
token or one ranking, and is never searched for in a long answer.
"""

from collections.abc import Sequence
from dataclasses import replace

from spanreward.rewards.files.templates import fill
from spanreward.rewards.judges.judge import Failure, Judge, Question
from spanreward.rewards.judges.shared.cached_judge import write_once
from spanreward.rewards.pairwise.questions import PairPrompts

ANALYSIS_TOKENS = 256


def after_analysis(
    judge: Judge, questions: Sequence[Question], answer: str, prompts: PairPrompts
) -> list[Question | Failure]:
    """Returns the questions, each with the judge's analysis before its end `answer`, or a Failure if it wrote none."""
    to_analyse = [replace(ending(question, answer, prompts.analyse), probe=None) for question in questions]
    written = write_once(judge, to_analyse, ANALYSIS_TOKENS)
    return [
        text
        if isinstance(text, Failure)
        else ending(question, answer, f"{fill(prompts.analysis, analysis=text.strip())}\n\n{answer}")
        for question, text in zip(questions, written, strict=True)
    ]


def ending(question: Question, old: str, new: str) -> Question:
    """Returns the question with another end of its last message."""
    *others, last = question.messages
    return replace(question, messages=[*others, {**last, "content": last["content"].removesuffix(old) + new}])
