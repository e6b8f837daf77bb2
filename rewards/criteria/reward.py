"""MLLM-Bench as a reward: how far a completion meets the criteria that were written for its row.

    reward = CriteriaReward(judge)                        # needs a column criteria, and image, images or context
    sample = Sample("How tall is she?", "About 170 cm.", images=(picture,), criteria=("Says 165 to 175 cm.",))
    reward.assess([sample])[0].parts                      # {"criterion_1": 4.6}

    CriteriaReward(judge, form="pairwise")                # the paper's vote against the column `anchor`

Pointwise, every criterion is one rating from 1 to 5 and the score their mean, from 0 to 1. Pairwise, a vote by all
criteria in both orders: 1 for won, one half for a tie or where the judge is unable to decide, 0 for lost.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Literal

from rewards.cost import Cost, tokens_in
from rewards.criteria.questions import CriteriaPrompts, ask_criterion, ask_vote, load_prompts, read_criteria
from rewards.judges.judge import RATING_SCALE, Failure, Judge, Rating
from rewards.judges.shared.cached_judge import rate_once
from rewards.pairwise.charge import charge, judged
from rewards.pairwise.questions import Evidence, Shown
from rewards.pairwise.questions import load_prompts as load_pair_prompts
from rewards.pairwise.rows import sort_rows
from rewards.pairwise.votes import PairVotes, cast
from rewards.reward import Reward
from rewards.verdict import Sample, Verdict

CRITERIA = 3  # of a row, which `cost` assumes: MLLM-Bench has one to three
SCALE = ("A", "B", "C", "D")


class CriteriaReward(Reward):
    """Per-sample criteria (MLLM-Bench, sections 3 and 5.1), with any judge.

    Args:
        judge: who rates or votes; one that sees, where rows bring pictures.
        form: "pointwise" rates every criterion, which become the verdict's parts; "pairwise" votes against the dataset
            column `anchor`, in both orders.
        evidence: "picture", or where a row has none its `context`; "context" never shows a picture.
        name: of the reward in logs.
    """

    def __init__(
        self,
        judge: Judge,
        form: Literal["pointwise", "pairwise"] = "pointwise",
        evidence: Evidence = "picture",
        name: str = "criteria",
    ) -> None:
        super().__init__(name)
        if form not in ("pointwise", "pairwise"):
            raise ValueError(f'form is "pointwise" or "pairwise", got {form!r}')
        if evidence not in ("picture", "context"):
            raise ValueError(f'evidence is "picture" or "context", got {evidence!r}')
        self.judge = judge
        self.judges = (judge,)
        self.form = form
        self.evidence: Evidence = evidence
        self.prompts: CriteriaPrompts = load_prompts()
        self.pair = load_pair_prompts()
        self.wording = sha256(repr((self.prompts, self.pair)).encode()).hexdigest()[:16]
        self.columns = ("criteria", "anchor") if form == "pairwise" else ("criteria",)
        self.one_of = ("context",) if evidence == "context" else ("image", "images", "context")
        self.main_parts = ("won", "undecided") if form == "pairwise" else ("met",)

    def cost(self, words: float, references: int) -> Cost:
        text, criterion = " ".join(["word"] * round(words)), " ".join(["word"] * 12)
        if self.form == "pairwise":
            question = ask_vote(self.prompts, self.pair, Shown(""), text, text, (criterion,) * CRITERIA)
            read = 2 * tokens_in(question.messages[0]["content"])
            return Cost(2, read, 2, exact=True, how="both orders against the anchor")
        read = tokens_in(ask_criterion(self.prompts, self.pair, Shown(""), text, criterion).messages[0]["content"])
        how = f"a rating a criterion, of which a row has {CRITERIA} (assumed)"
        return Cost(CRITERIA, CRITERIA * read, CRITERIA, exact=False, how=how)

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        """One Verdict per sample, in order; all questions in one call, equal ones once."""
        shown, verdicts = sort_rows(samples, self.evidence, self._lacks)
        asked = {number: samples[number] for number in shown if number not in verdicts}
        found = self._vote(asked, shown) if self.form == "pairwise" else self._rate(asked, shown)
        return [verdicts.get(number) or found[number] for number in range(len(samples))]

    def _lacks(self, sample: Sample) -> str:
        """What the row lacks, in one sentence, "" for nothing."""
        if not sample.criteria:
            return "this row has no criteria"
        if self.form == "pairwise" and not (sample.anchor or "").strip():
            return "this row has no anchor, a text to compare the completion with"
        return ""

    def _rate(self, samples: dict[int, Sample], shown: dict[int, Shown]) -> dict[int, Verdict]:
        """The pointwise form. One failure fails the verdict."""
        of_rows = {number: read_criteria(sample.criteria) for number, sample in samples.items()}
        questions = [
            ask_criterion(self.prompts, self.pair, shown[number], judged(samples[number]), criterion)
            for number, criteria in of_rows.items()
            for criterion in criteria
        ]
        ratings = iter(rate_once(self.judge, questions))
        return {
            number: rated([next(ratings) for _ in criteria], samples[number]) for number, criteria in of_rows.items()
        }

    def _vote(self, samples: dict[int, Sample], shown: dict[int, Shown]) -> dict[int, Verdict]:
        """The pairwise form. A completion that is the anchor ties with it, unasked."""
        asked = {number: sample for number, sample in samples.items() if judged(sample) != sample.anchor}
        questions = []
        for number, sample in asked.items():
            one, other, criteria = judged(sample), sample.anchor or "", read_criteria(sample.criteria)
            ways = ((one, other), (other, one))
            questions += [ask_vote(self.prompts, self.pair, shown[number], *way, criteria) for way in ways]
        votes = dict(zip(asked, cast(self.judge, questions, SCALE), strict=True))
        return {number: voted(votes.get(number), sample) for number, sample in samples.items()}


def rated(answers: Sequence[Rating | Failure], sample: Sample) -> Verdict:
    """The mean of the criteria's ratings, from 0 to 1; `met` is the share of those rated above 3."""
    parts: dict[str, float] = {}
    for number, answer in enumerate(answers, start=1):
        if isinstance(answer, Failure):
            return Verdict(None, answer.status, note=f"criterion {number}: {answer.message}")
        parts[f"criterion_{number}"] = answer.mean
    levels = len(RATING_SCALE) - 1
    score = sum(min(max((mean - 1) / levels, 0.0), 1.0) for mean in parts.values()) / len(parts)
    met = sum(mean > 3 for mean in parts.values()) / len(parts)
    cut = max(answer.cut for answer in answers if isinstance(answer, Rating))
    return charge(Verdict(score, parts={**parts, "met": met}), sample, cut)


def voted(votes: PairVotes | None, sample: Sample) -> Verdict:
    """The vote against the anchor; None for a completion that is the anchor's text."""
    if votes is None:
        return charge(Verdict(0.5, parts=decided(0)), sample)
    if votes.failure:
        return Verdict(None, votes.failure.status, note=votes.failure.message)
    outcome = first_that_decides(votes)
    situations = {"situation_one": votes.letters.count("C") / 2, "situation_two": votes.letters.count("D") / 2}
    parts = {**decided(outcome), **situations, "orders_disagree": float(votes.disagree)}
    note = f"votes, shown first / second: {'/'.join(letter or '-' for letter in votes.letters)}"
    return charge(Verdict((1 + outcome) / 2, parts=parts, note=note), sample)


def decided(outcome: int) -> dict[str, float]:
    return {name: float(outcome == value) for name, value in (("won", 1), ("undecided", 0), ("lost", -1))}


def first_that_decides(votes: PairVotes) -> int:
    """1, 0 or -1: two orders that decide differently are a tie, and one that decides goes before one that is unable to
    (MLLM-Bench's rule, as rewards/agreement/mllm_bench.py reads it off the published votes).
    """
    choices = {choice for choice in (votes.one.choice, votes.two.choice) if choice}
    return choices.pop() if len(choices) == 1 else 0
