"""Builds the question about one text, or about two texts in the given order.

evidence = shown_evidence(sample, "picture")          # request, and pictures or context
ask_pair(prompts, evidence, "one text", "another")    # a Question with the answers A, B and C
ask_score(prompts, evidence, "a text")                # a Question with the answers 1 to 5
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from spanreward.rewards.base.verdict import NotApplicable, Sample
from spanreward.rewards.files.templates import fill_template, filled_places, read_texts
from spanreward.rewards.judges.judge import Question
from spanreward.rewards.judges.probe import PairProbe, QualityProbe
from spanreward.rewards.reward.rows import Evidence, evidence_of_sample
from spanreward.rewards.text.quoting import fill_masked, marks_in, mask_marks

PAIRWISE_PROMPTS_FILE = Path(__file__).with_name("prompts.yaml")
PromptPieces = Mapping[str, str]  # the pieces of prompts by name, see prompts.yaml


@dataclass(frozen=True, slots=True)
class Shown:
    """The request and the evidence that the judge sees beside the texts.

    The evidence is pictures, a context, or nothing.

    Args:
        request: the row's question, or its prompt if the row has no question.
        images: the row's pictures, as PIL images.
        context: a text that describes the picture, "" for none.
        only_request: True for rows of plain text. The prompt then mentions no picture.
    """

    request: str
    images: tuple[Any, ...] = ()
    context: str = ""
    only_request: bool = False


def load_pairwise_prompts(path: str | Path | None = None) -> PromptPieces:
    """Returns the pieces of prompts by name, from a YAML file like prompts.yaml.

    path: None for prompts.yaml.

    Raises OSError for an unreadable file, and ValueError for an invalid file.
    """
    return read_texts(path, PAIRWISE_PROMPTS_FILE)


def shown_evidence(sample: Sample, evidence: Evidence | Literal["prompt"]) -> Shown:
    """Returns the request and the evidence that the judge sees beside the row's texts.

    Args:
        sample: a row.
        evidence: "picture", "context", or "prompt" for rows of plain text, which have only the
            request.

    Raises NotApplicable for a row without this evidence.
    """
    request = (sample.question or sample.prompt).strip()
    if evidence != "prompt":
        images, context = evidence_of_sample(sample, evidence)
        return Shown(request, images, context)
    if not request:
        raise NotApplicable("this row has no prompt to judge the completion by")
    # the judge does not see the picture, so a rating of a text about the picture would be a guess
    if sample.images:
        raise NotApplicable(
            "this row has a picture, which evidence='prompt' leaves out: take evidence='picture'"
        )
    return Shown(request, only_request=True)


def texts_of_opponents(sample: Sample, column: str) -> tuple[str, ...]:
    """Returns the texts that the row's completion is compared with: the anchor, or all references.

    Args:
        sample: a row.
        column: "anchor" or "reference".

    Raises NotApplicable for a row without these texts.
    """
    if column == "reference":
        if not sample.references:
            raise NotApplicable("this row has no reference to compare the completion with")
        return sample.references
    anchor = sample.anchor or ""
    if not anchor.strip():
        raise NotApplicable("this row has no anchor, a text to compare the completion with")
    return (anchor,)


def beginning_of_prompt(instructions: str, prompts: PromptPieces, evidence: Shown) -> str:
    """Returns the beginning of a prompt: instructions, a line about the picture, and request.

    The line about the picture says that the judge sees the picture, or gives the context in place
    of the picture, or says that the judge does not see the picture. Evidence with `only_request`
    has no such line. The beginning ends with an empty line.

    Args:
        instructions: the first piece of the prompt.
        prompts: all pieces. Their fixed lines are masked in the context and the request.
        evidence: from `shown_evidence`.
    """
    marks = marks_in(*prompts.values())
    pieces = [instructions]
    if evidence.context:
        context = fill_masked(prompts["context"], marks, context=evidence.context)
        pieces.append(context)
    elif evidence.images:
        pieces.append(prompts["picture"])
    elif not evidence.only_request:
        pieces.append(prompts["unseen"])  # "... a picture that you do not see."
    if evidence.request:
        request = fill_masked(prompts["request"], marks, request=evidence.request)
        pieces.append(request)
    return "\n\n".join(pieces) + "\n\n"


def ask_pair(
    prompts: PromptPieces,
    evidence: Shown,
    first: str,
    second: str,
    criteria: tuple[str, ...] = (),
    ending: str = "",
) -> Question:
    """Returns the question which of two texts is better. The longer text may be cut.

    Args:
        prompts: the pieces of prompts.
        evidence: from `shown_evidence`.
        first, second: the texts, in the order in which the judge sees them.
        criteria: the criteria of the comparison, for a judge that reads the question as data and
            not as a prompt. () for none.
        ending: a part of the prompt below the texts, such as the criteria in words.
    """
    before = beginning_of_prompt(prompts["instructions"], prompts, evidence)
    after = f"\n\n{prompts['answer']}"
    if ending:
        after = f"\n\n{ending}{after}"
    longer = "first" if len(first) >= len(second) else "second"
    # A judge such as `match` reads the probe and no prompt, so the probe has the texts unchanged.
    # In the prompt, lines of a text that look like lines of the prompt are masked.
    probe = PairProbe(evidence.request, first, second, evidence.context, criteria)
    marks = marks_in(*prompts.values())
    texts = {"first": mask_marks(first, marks), "second": mask_marks(second, marks)}
    return question_of(evidence, probe, before, prompts["texts"], after, longer, **texts)


def ask_score(prompts: PromptPieces, evidence: Shown, text: str) -> Question:
    """Returns the question how well a text serves the request, with answers from 1 to 5."""
    before = beginning_of_prompt(prompts["score"], prompts, evidence)
    after = f"\n\n{prompts['rating']}"
    probe = QualityProbe(evidence.request, text, evidence.context)
    masked = mask_marks(text, marks_in(*prompts.values()))
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

    Args:
        evidence: from `shown_evidence`.
        probe: the same question as data, for judges that do not read prompts.
        before, after: the parts of the prompt around the template.
        template: the piece of the prompt with placeholders for the texts.
        longest: the placeholder of the longest text, which alone may be cut.
        texts: the masked text for each placeholder. No masked text repeats a line of the prompt.
    """
    start, end = filled_places(template, **texts)[longest]
    content = before + fill_template(template, **texts) + after
    # convert places in the template to places in the whole prompt
    description = (len(before) + start, len(before) + end)
    message = {"role": "user", "content": content}
    return Question([message], evidence.images, probe, description)
