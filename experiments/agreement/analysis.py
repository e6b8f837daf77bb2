"""Analyse, then judge (MLLM-as-a-Judge, section 3.1): the judge writes an analysis before it
decides.

    questions = after_analysis(judge, questions, prompts["answer"])
    # each now shows the judge's own analysis

The judge first writes the analysis. Then it gets the same question with its analysis. So the
decision is still one token or one ranking, and is never searched for in a long answer.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from spanreward.rewards.files.templates import fill_template, read_texts
from spanreward.rewards.judges.judge import Failure, Judge, Question

ANALYSIS_TOKENS = 256
TEXTS = Path(__file__).with_name("analysis.yaml")


def after_analysis(
    judge: Judge, questions: Sequence[Question], answer: str
) -> list[Question | Failure]:
    """Returns the questions, each with the judge's analysis before its end `answer`, or a Failure
    if it wrote none.
    """
    texts = read_texts(None, TEXTS)
    to_analyse = [
        replace(ending(question, answer, texts["analyse"]), probe=None) for question in questions
    ]
    written = judge.write(to_analyse, ANALYSIS_TOKENS)
    return [
        analysis
        if isinstance(analysis, Failure)
        else ending(
            question,
            answer,
            f"{fill_template(texts['analysis'], analysis=analysis.strip())}\n\n{answer}",
        )
        for question, analysis in zip(questions, written, strict=True)
    ]


def ending(question: Question, old: str, new: str) -> Question:
    """Returns the question with another end of its last message."""
    *others, last = question.messages
    return replace(
        question, messages=[*others, {**last, "content": last["content"].removesuffix(old) + new}]
    )
