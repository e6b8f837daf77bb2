"""ClaimDiff-RL as a reward: a judge lists the differences between a text and its references or the
picture, with quotes and severity.

    sample = Sample("Describe it.", "A red car.", references=("A blue car by a tree.",))
    verdict = DifferencesReward(judge).assess([sample])[0]
    verdict.score, verdict.parts["wrong"], verdict.parts["missing"]
    # 0.43, 1.0 ("red"), 0.33 ("by a tree")

The judge gets one question per completion and writes a list. A difference weighs 1/3 (slight), 2/3
(clear) or 1 (severe). The score is 1 / (1 + the sum of the weights), so one severe difference
halves the score. `wrong` is the sum over differences in what the text claims, and `missing` is the
sum over what the text leaves out. A difference with a quote that is not in its text is refused;
`refused` counts these.
"""

import re
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from spanreward.rewards.base.checks import Mode
from spanreward.rewards.base.cost import Cost, tokens_in
from spanreward.rewards.base.verdict import NotApplicable, Sample, Span, Status, Verdict
from spanreward.rewards.experimental.differences.listed import Difference, read_differences
from spanreward.rewards.files.templates import fill_template, filled_places, read_texts
from spanreward.rewards.judges.judge import Failure, Judge, Question
from spanreward.rewards.reward.row_reward import JudgedRow, RawVerdict, RowReward
from spanreward.rewards.reward.rows import judged_beginning, open_pictures
from spanreward.rewards.text.quoting import fill_masked, marks_in, mask_marks
from spanreward.rewards.text.written_list import without_list_signs

DEFAULT_PROMPTS = Path(__file__).with_name("prompts.yaml")
MAX_LIST_TOKENS = 768  # of an answer; a list of twelve differences takes about 600
# The kind of every span. Credit is compared among spans of the same kind, so right and wrong words
# need the same kind.
CLAIM_KIND = "claim"
# Matches a sentence from its first word to its last word.
SENTENCE_PATTERN = re.compile(r"[^\W_](?:[^.!?\n]*[^\W_])?")


class DifferencesReward(RowReward):
    """Reward that scores a description by its differences from the references and the picture
    (after ClaimDiff-RL, arXiv 2605.20278, as far as its abstract describes it). A row needs a
    reference or a picture.

    Args:
        judge: the judge, which must be able to write a list of quotes. It must see pictures if rows
            have them.
        evidence: "picture" shows the judge the row's picture, if it has one, and the references.
            "reference" shows only the references. Without a reference nothing can be quoted as left
            out.
        prompts: a file like prompts.yaml. None means prompts.yaml itself.
        mode: "default" penalises filler (rewards/text/filler.py), "published" does not.
        name: the reward's name in logs.
        judged_part: only this part of a completion is judged (rewards/text/judged_part.py).

    Raises:
        ValueError: an invalid option, or an invalid file of prompts.
        OSError: a file that cannot be read.
    """

    main_parts = ("wrong", "missing")
    evidences = ("picture", "reference")
    in_words = "evidence='reference'"

    def __init__(
        self,
        judge: Judge | str,
        *,
        evidence: Literal["picture", "reference"] = "picture",
        prompts: str | Path | None = None,
        mode: Mode = "default",
        name: str = "differences",
        judged_part: str | None = None,
    ) -> None:
        super().__init__(name, judge, mode, evidence, judged_part=judged_part)
        self.prompts = read_texts(prompts, DEFAULT_PROMPTS)
        texts = repr(self.prompts)
        self.wording = sha256(texts.encode()).hexdigest()[:16]
        self.one_of: tuple[str, ...] = ("reference", "image", "images")
        if evidence == "reference":
            self.one_of = ("reference",)

    def cost_of_text(self, words: float, references: int) -> Cost:
        """Returns the cost of judging one completion.

        words: the number of words of the completion and of each reference. references: the number
        of references.
        """
        text = " ".join(["word"] * round(words))
        sample = Sample("", text, references=(text,) * references)
        question = self._question(sample, ())
        read = tokens_in(question.messages[0]["content"])
        return Cost(1, read, MAX_LIST_TOKENS, exact=True, how="one written list of differences")

    def show(self, sample: Sample) -> tuple[Any, ...]:
        """Returns the pictures that the judge sees.

        Raises NotApplicable for a row without a reference and a picture, and for pictures that
        `open_pictures` refuses.
        """
        images = sample.images if self.evidence == "picture" else ()
        if not images and not sample.references:
            lacking = " and no ".join(self.one_of[:2])
            raise NotApplicable(f"this row has no {lacking} to compare the completion with")
        return open_pictures(images)

    def rate(
        self, rows: Sequence[JudgedRow], shown: dict[int, tuple[Any, ...]]
    ) -> list[RawVerdict]:
        """Returns a raw verdict per row, in order. shown: the pictures of each row, by the row's
        number.
        """
        questions = [self._question(sample, shown[number]) for number, sample, _ in rows]
        answers = self.judge.write(questions, MAX_LIST_TOKENS)
        verdicts: list[RawVerdict] = []
        for (_, sample, _), answer in zip(rows, answers, strict=True):
            verdict = verdict_of(sample, answer)
            verdicts.append((verdict, 0))
        return verdicts

    def _question(self, sample: Sample, images: tuple[Any, ...]) -> Question:
        """Returns the question about a completion: the references, the completion, and the
        instructions for the list. images: the pictures that the judge sees.
        """
        # The instructions and the references come first, because many questions share them.
        template = self.prompts["text"]
        marks = marks_in(*self.prompts.values())
        pieces = [self.prompts["instructions"]]
        if images:
            pieces.append(self.prompts["picture"])
        for number, reference in enumerate(sample.references, start=1):
            values = {"number": str(number), "reference": without_list_signs(reference)}
            pieces.append(fill_masked(self.prompts["reference"], marks, **values))
        # Then the completion, and what to list. If the question is too long, the completion loses
        # its end.
        text = without_list_signs(mask_marks(judged_beginning(sample), marks))
        before = "\n\n".join([*pieces, ""])
        filled = fill_template(template, text=text)
        content = f"{before}{filled}\n\n{self.prompts['ask']}"
        start, end = filled_places(template, text=text)["text"]
        description = (len(before) + start, len(before) + end)
        message = {"role": "user", "content": content}
        return Question([message], images, description=description)


def verdict_of(sample: Sample, answer: str | Failure) -> Verdict:
    """Returns the verdict of a judge's answer: the score, the parts `wrong` and `missing`, and the
    spans.

    Example: for the text "A red car." and the reference "A blue car.", a severe difference at "red"
    gives the score 1/2 and the part `wrong` 1. An answer that is no list, or whose quotes are in no
    text, gives a verdict without a score.
    """
    if isinstance(answer, Failure):
        return Verdict(None, answer.status, note=answer.message)
    text = judged_beginning(sample)
    listed = read_differences(answer, text, sample.references)
    if listed is None:
        return _unparsed_verdict("the judge wrote no list of differences", answer)
    differences, refused = listed
    if refused and not differences:
        return _unparsed_verdict("no text has what the judge quotes", answer)
    reference = _most_quoted_reference(differences)
    spans, missed = _spans_of_differences(differences, reference)
    spans += _spans_without_difference(text, differences)
    total = sum(difference.weight for difference in differences)
    wrong = sum(difference.weight for difference in differences if difference.place)
    parts = {
        "wrong": wrong,
        "missing": total - wrong,
        "differences": float(len(differences)),
        "refused": float(refused),
    }
    return Verdict(
        1 / (1 + total),
        parts=parts,
        spans=tuple(spans),
        missed=tuple(missed),
        reference=reference,
    )


def _unparsed_verdict(why: str, answer: str) -> Verdict:
    """Returns a verdict without a score, for an answer that cannot be read."""
    return Verdict(None, Status.UNPARSED, note=f"{why}: {answer[:80]!r}")


def _most_quoted_reference(differences: Sequence[Difference]) -> int:
    """Returns the number of the reference from which most differences quote words; 0 without a
    quote. A verdict has `missed` spans on this reference only.
    """
    quoted: list[int] = []  # the number of the reference of each quote
    for difference in differences:
        quoted.extend(difference.lacking)
    return max(quoted, key=quoted.count, default=0)


def _spans_of_differences(
    differences: Sequence[Difference], reference: int
) -> tuple[list[Span], list[Span]]:
    """Returns a span for each difference in the text, and a span for each difference that quotes
    the reference.

    Example: for the text "A red car." and the reference "A blue car.", one difference gives a span
    on "red" in the text, and a span on "blue" in the reference. The credit of a difference is the
    score minus the score without that difference, so it is negative.

    reference: the number of the reference, from 0.
    """
    total = sum(difference.weight for difference in differences)
    score = 1 / (1 + total)
    spans: list[Span] = []
    missed: list[Span] = []
    for number, difference in enumerate(differences):
        score_without = 1 / (1 + total - difference.weight)
        fields: dict[str, Any] = {
            "score": 1 - difference.weight,
            "credit": score - score_without,
            "kind": CLAIM_KIND,
            "note": f"{difference.kind}, severity {difference.weight:.2f}",
            "component": number,
        }
        if reference in difference.lacking:
            start, end = difference.lacking[reference]
            missed.append(Span(start, end, **fields))
        if difference.place:
            start, end = difference.place
            spans.append(Span(start, end, **fields))
    return spans, missed


def _spans_without_difference(text: str, differences: Sequence[Difference]) -> list[Span]:
    """Returns a span of score 1 and credit 0 for each sentence, or part of a sentence, without a
    difference.

    Example: in "A red car stands here." with a difference at "red", the spans are on "A" and on
    "car stands here".
    """
    # line breaks in place of the wrong words end the stretches of the other words
    rest = list(text)
    for difference in differences:
        if difference.place:
            start, end = difference.place
            rest[start:end] = "\n" * (end - start)
    spans = []
    stretches = SENTENCE_PATTERN.finditer("".join(rest))
    for number, stretch in enumerate(stretches, start=len(differences)):
        start, end = stretch.span()
        spans.append(Span(start, end, 1.0, 0.0, CLAIM_KIND, "no difference", number))
    return spans
