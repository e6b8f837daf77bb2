"""Builds the question about one text, or about two texts in the given order.

evidence = show(sample, "picture")                    # what the judge sees beside the texts
ask_pair(prompts, evidence, "one text", "another")    # a Question, to be answered with A, B or C
ask_score(prompts, evidence, "a text")                # a Question, to be answered with 1 to 5
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from spanreward.rewards.base.verdict import NotApplicable, Sample
from spanreward.rewards.files.templates import fill, places, read_texts
from spanreward.rewards.judges.judge import Question
from spanreward.rewards.judges.probe import PairProbe, QualityProbe
from spanreward.rewards.reward.rows import Evidence, seen
from spanreward.rewards.text.quoting import fill_masked, marks_in, mask

PAIRWISE_PROMPTS_FILE = Path(__file__).with_name("prompts.yaml")
Texts = Mapping[str, str]  # the pieces of prompts, see prompts.yaml


@dataclass(frozen=True, slots=True)
class Shown:
    """What the judge sees beside the texts: the request, and pictures, a context or neither.

    Args:
        request: the row's question or, without one, its prompt.
        images: the row's pictures, as PIL images.
        context: a text that says what is in the picture.
        only_request: there is no picture that the request could be about.
    """

    request: str
    images: tuple[Any, ...] = ()
    context: str = ""
    only_request: bool = False


def load_pairwise_prompts(path: str | Path | None = None) -> Texts:
    """Returns the prompts of a YAML file like prompts.yaml.

    Raises OSError, or ValueError for an invalid file.
    """
    return read_texts(path, PAIRWISE_PROMPTS_FILE)


def show(sample: Sample, evidence: Evidence | Literal["prompt"]) -> Shown:
    """Returns what the judge sees beside the row's texts.

    evidence: "prompt" is the request alone, for prompts of plain text. Raises NotApplicable for a
    row that lacks it.
    """
    request = (sample.question or sample.prompt).strip()
    if evidence != "prompt":
        images, context = seen(sample, evidence)
        return Shown(request, images, context)
    if not request:
        raise NotApplicable("this row has no prompt to judge the completion by")
    # a text about a picture that the judge does not see would be rated by guessing
    if sample.images:
        raise NotApplicable(
            "this row has a picture, which evidence='prompt' leaves out: take evidence='picture'"
        )
    return Shown(request, only_request=True)


def opponents(sample: Sample, column: str) -> tuple[str, ...]:
    """Returns the row's `anchor`, or its references. Raises NotApplicable for a row without.

    column: "anchor" or "reference".
    """
    if column == "reference":
        if not sample.references:
            raise NotApplicable("this row has no reference to compare the completion with")
        return sample.references
    anchor = sample.anchor or ""
    if not anchor.strip():
        raise NotApplicable("this row has no anchor, a text to compare the completion with")
    return (anchor,)


def head(instructions: str, prompts: Texts, evidence: Shown) -> str:
    """Returns the beginning of a prompt: instructions, picture or context, and request.

    It ends in an empty line. prompts: those whose lines no context and no request may spell.
    """
    marks = marks_in(*prompts.values())
    pieces = [instructions]
    if evidence.context:
        context = fill_masked(prompts["context"], marks, context=evidence.context)
        pieces.append(context)
    elif evidence.images:
        pieces.append(prompts["picture"])
    elif not evidence.only_request:
        pieces.append(prompts["unseen"])
    if evidence.request:
        request = fill_masked(prompts["request"], marks, request=evidence.request)
        pieces.append(request)
    return "\n\n".join(pieces) + "\n\n"


def ask_pair(
    prompts: Texts,
    evidence: Shown,
    first: str,
    second: str,
    criteria: tuple[str, ...] = (),
    ending: str = "",
) -> Question:
    """Returns the question about two texts, of which the first is shown first.

    The longer one may be cut. criteria: for the probe. ending: a part below the texts, such as the
    criteria in words.
    """
    before = head(prompts["instructions"], prompts, evidence)
    after = f"\n\n{prompts['answer']}"
    if ending:
        after = f"\n\n{ending}{after}"
    longer = "first" if len(first) >= len(second) else "second"
    # a judge that does not read prose compares the texts as they are, and the prompt masks them
    probe = PairProbe(evidence.request, first, second, evidence.context, criteria)
    marks = marks_in(*prompts.values())
    texts = {"first": mask(first, marks), "second": mask(second, marks)}
    return question_of(evidence, probe, before, prompts["texts"], after, longer, **texts)


def ask_score(prompts: Texts, evidence: Shown, text: str) -> Question:
    """Returns the question how well a text serves the request, to be rated from 1 to 5."""
    before = head(prompts["score"], prompts, evidence)
    after = f"\n\n{prompts['rating']}"
    probe = QualityProbe(evidence.request, text, evidence.context)
    masked = mask(text, marks_in(*prompts.values()))
    return question_of(evidence, probe, before, prompts["text"], after, "text", text=masked)


def question_of(
    evidence: Shown,
    probe: Any,
    before: str,
    template: str,
    after: str,
    longest: str,
    **texts: str,
) -> Question:
    """Returns the question with the filled template between `before` and `after`.

    longest: the placeholder of the text that may be cut. texts: masked, so that none spells a line
    of the prompt.
    """
    start, end = places(template, **texts)[longest]
    content = before + fill(template, **texts) + after
    # places in the template become places in the whole prompt
    description = (len(before) + start, len(before) + end)
    message = {"role": "user", "content": content}
    return Question([message], evidence.images, probe, description)
