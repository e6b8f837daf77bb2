"""MLLM-Bench as a reward: rates how well a completion fulfils the criteria of its row.

    reward = CriteriaReward(judge)  # needs a column criteria, and image, images or context
    criteria = ("Says 165 to 175 cm.",)
    sample = Sample("How tall is she?", "About 170 cm.", images=(picture,), criteria=criteria)
    reward.assess([sample])[0].parts                      # {"criterion_1": 4.6}

Form "pointwise" rates every criterion from 1 to 5. The score is the mean rating, mapped to the
range 0 to 1. Form "pairwise" is experimental (experimental/criteria_votes.py). With
spans="ablation" each sentence becomes a span. The span's credit is the score minus the score of the
text without the sentence.
"""

import re
from collections.abc import Sequence
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from spanreward.rewards.base.checks import Mode, check_choice
from spanreward.rewards.base.cost import Cost, tokens_in
from spanreward.rewards.base.verdict import NotApplicable, Sample, Verdict
from spanreward.rewards.files.templates import read_texts
from spanreward.rewards.judges.judge import RATING_SCALE, Failure, Judge, Question, Rating
from spanreward.rewards.judges.probe import MeetsProbe
from spanreward.rewards.pairwise.questions import (
    PromptPieces,
    Shown,
    beginning_of_prompt,
    load_pairwise_prompts,
    question_of,
    shown_evidence,
    texts_of_opponents,
)
from spanreward.rewards.reward.judged_reward import JudgedReward
from spanreward.rewards.reward.row_reward import JudgedRow, RawVerdict, Spans
from spanreward.rewards.reward.rows import EVIDENCE, Evidence, judged_beginning
from spanreward.rewards.text.quoting import fill_masked, marks_in, mask_marks

ASSUMED_CRITERIA = 3  # criteria of a row that `cost` assumes; rows of MLLM-Bench have one to three
CRITERION_WORDS = 12  # words of a criterion that `cost` assumes
MIDDLE_RATING = 3  # a text fulfils a criterion if the rating is above 3 of 5
CRITERIA_PROMPTS_FILE = Path(__file__).with_name("prompts.yaml")
LINE_NUMBER = re.compile(r"^[^\S\n]*+\d++[.)]\s++", re.MULTILINE)


class CriteriaReward(JudgedReward):
    """Reward that scores a completion by the criteria of its row (MLLM-Bench, sections 3 and 5.1).

    Args:
        judge: the judge. The judge must see pictures if the rows have pictures.
        form: "pointwise" rates every criterion, and the ratings become the verdict's parts.
            "pairwise" is experimental: the judge compares the completion with the text of the
            dataset column `anchor`, in both orders.
        evidence: "picture" shows the row's picture, or its `context` if it has none. "context"
            never shows a picture.
        prompts: a file like prompts.yaml. None gives the file of this package.
        mode: "default" penalises filler (rewards/text/filler.py), "published" does not.
        name: the reward's name in logs.
        spans: "ablation" also judges the text without each sentence. "none" judges only the text.
        judged_part: only this part of a completion is judged (rewards/text/judged_part.py).

    Raises:
        ValueError: an unknown form or another invalid option, or an invalid file of prompts.
        OSError: a file that cannot be read.
    """

    evidences = EVIDENCE

    def __init__(
        self,
        judge: Judge | str,
        *,
        form: Literal["pointwise", "pairwise"] = "pointwise",
        evidence: Evidence = "picture",
        prompts: str | Path | None = None,
        mode: Mode = "default",
        name: str = "criteria",
        spans: Spans = "none",
        judged_part: str | None = None,
    ) -> None:
        super().__init__(
            judge,
            evidence=evidence,
            mode=mode,
            spans=spans,
            name=name,
            judged_part=judged_part,
        )
        check_choice("form", form, ("pointwise", "pairwise"))
        self.form = form
        self.prompts = read_texts(prompts, CRITERIA_PROMPTS_FILE)
        # the texts about picture, context and request are those of the metric "pairwise"
        self.pair = load_pairwise_prompts()
        # a hash of all texts of the prompts, because verdicts of different prompts are never mixed
        all_texts = repr((self.prompts, self.pair))
        self.wording = sha256(all_texts.encode()).hexdigest()[:16]
        # the dataset columns that a row needs, and the parts of a verdict that tables show
        if form == "pairwise":
            self.columns = ("criteria", "anchor")
            self.main_parts = ("won", "undecided")
        else:
            self.columns = ("criteria",)
            self.main_parts = ("met",)

    def cost_of_text(self, words: float, references: int) -> Cost:
        """Returns the cost of one completion of a row with ASSUMED_CRITERIA criteria.

        words: the number of words of the completion.
        """
        # build the prompt for a completion of so many words, and count its tokens
        text = " ".join(["word"] * round(words))
        criterion = " ".join(["word"] * CRITERION_WORDS)
        if self.form == "pairwise":
            criteria = (criterion,) * ASSUMED_CRITERIA
            return _votes_module().cost_of_vote(self.prompts, self.pair, text, criteria)
        question = ask_criterion(self.prompts, self.pair, Shown(""), text, criterion)
        read = tokens_in(question.messages[0]["content"])
        how = f"one rating per criterion, {ASSUMED_CRITERIA} criteria a row (assumed)"
        return Cost(
            ASSUMED_CRITERIA, ASSUMED_CRITERIA * read, ASSUMED_CRITERIA, exact=False, how=how
        )

    def check(self, sample: Sample) -> None:
        """Raises NotApplicable for a row without criteria. With form "pairwise", also raises
        NotApplicable for a row without an anchor.
        """
        if not sample.criteria:
            raise NotApplicable("this row has no criteria")
        if self.form == "pairwise":
            texts_of_opponents(sample, "anchor")

    def show(self, sample: Sample) -> Shown:
        """Returns the parts of a row that the judge sees beside the text.

        Raises NotApplicable for a row that `check` refuses, and for a row without evidence.
        """
        self.check(sample)
        return shown_evidence(sample, self.evidence)

    def rate(self, rows: Sequence[JudgedRow], shown: dict[int, Shown]) -> list[RawVerdict]:
        """Returns one raw verdict per row, in order: the verdict before penalties, and the number
        of unread characters at the text's end.

        shown: the parts of each row that the judge sees beside the text, by the row's number.
        """
        if self.form == "pairwise":
            votes = _votes_module()
            verdicts: list[RawVerdict] = votes.verdicts_by_vote(
                self.judge, self.prompts, self.pair, rows, shown
            )
            return verdicts
        return super().rate(rows, shown)

    def questions_on(self, row: JudgedRow, shown: Shown) -> list[Question]:
        """Returns one question per criterion of the row, in the order of the criteria."""
        _, sample, _ = row
        text = judged_beginning(sample)
        questions = []
        for criterion in read_criteria(sample.criteria):
            question = ask_criterion(self.prompts, self.pair, shown, text, criterion)
            questions.append(question)
        return questions

    def verdict_on(self, row: JudgedRow, answers: Sequence[Rating | Failure]) -> RawVerdict:
        """Returns the verdict for the judge's answers, and the number of unread characters.

        The score is the mean rating of the criteria, mapped to 0 to 1. The part `met` is the share
        of the criteria that are rated above MIDDLE_RATING.

        answers: one answer per criterion. A single failure makes the whole verdict fail. Unread
        characters are at the end of the text: the judge cut them to shorten the prompt.
        """
        ratings: list[Rating] = []
        for number, answer in enumerate(answers, start=1):
            if isinstance(answer, Failure):
                note = f"criterion {number}: {answer.message}"
                return Verdict(None, answer.status, note=note), 0
            ratings.append(answer)
        # only characters that were read for every criterion count as read
        cut = max(rating.cut for rating in ratings)
        return _verdict_of_ratings(ratings), cut


def _verdict_of_ratings(ratings: Sequence[Rating]) -> Verdict:
    """Returns the verdict for one rating per criterion: the ratings 5 and 2 of 5 give the score
    0.625 with the parts `criterion_1` = 5, `criterion_2` = 2 and `met` = 0.5.
    """
    steps = len(RATING_SCALE) - 1  # a rating is from 1 to 5, a score is from 0 to 1
    parts: dict[str, float] = {}
    scores = []
    for number, rating in enumerate(ratings, start=1):
        parts[f"criterion_{number}"] = rating.mean
        score = (rating.mean - 1) / steps
        scores.append(min(max(score, 0.0), 1.0))  # by rounding, a mean can be above 5
    met = [rating for rating in ratings if rating.mean > MIDDLE_RATING]
    parts["met"] = len(met) / len(ratings)
    return Verdict(sum(scores) / len(scores), parts=parts)


def _votes_module() -> Any:
    """Returns the module of form "pairwise".

    The module is experimental, so it is imported only for this form.
    """
    return import_module("spanreward.rewards.experimental.criteria_votes")


def read_criteria(column: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the criteria of a row, one text per criterion.

    In MLLM-Bench all criteria of a row are one text with numbered lines. Such a text is split:

    read_criteria(("1. Names the bird.\\n2. Says how old the bird is.",))
    # ("Names the bird.", "Says how old the bird is.")
    """
    if len(column) != 1:
        return column
    text = column[0]
    # a text with a single number is no list: a criterion may begin with "3. "
    if len(LINE_NUMBER.findall(text)) < 2:
        return column
    parts = [part.strip() for part in LINE_NUMBER.split(text)]
    return tuple(part for part in parts if part)


def ask_criterion(
    prompts: PromptPieces, shared: PromptPieces, evidence: Shown, text: str, criterion: str
) -> Question:
    """Returns the question to rate from 1 to 5 how well a text fulfils one criterion.

    The prompt has three parts: the instructions and the evidence, the text, and the criterion with
    the request to rate. Only the text may be cut, if the prompt is too long for the judge.

    prompts: the texts of prompts.yaml in this folder. shared: the texts of pairwise/prompts.yaml
    about the picture, the context and the request, which both metrics use. evidence: the parts of
    the row that the judge sees beside the text.
    """
    # Stars replace fixed lines of the prompt, the marks, within the text and the criterion.
    # Otherwise a text could end its own part of the prompt.
    marks = marks_in(*shared.values(), *prompts.values())
    all_texts = {**shared, **prompts}
    before_text = beginning_of_prompt(prompts["instructions"], all_texts, evidence)
    request = fill_masked(prompts["criterion"], marks, criterion=criterion)
    after_text = f"\n\n{request}\n\n{prompts['rating']}"
    # the same question as typed data, for judges that do not read prompts
    probe = MeetsProbe(criterion, text, evidence.request, evidence.context)
    return question_of(
        evidence,
        probe,
        before=before_text,
        template=prompts["text"],
        after=after_text,
        longest="text",  # the name of the only placeholder of this template, which may be cut
        text=mask_marks(text, marks),
    )
