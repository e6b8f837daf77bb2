"""MLLM-as-a-Judge as a reward: compares completions with each other, an anchor or a reference, or
scores them alone.

    reward = PairwiseReward(judge)  # within the GRPO group; needs image, images or context
    reward = PairwiseReward(judge, anchor="anchor")
    # against the dataset column `anchor`, such as SFT's answers
    reward = PairwiseReward(judge, form="batch")          # ranks the group in one question, twice
    reward = PairwiseReward(judge, form="score")          # rates each completion alone, from 1 to 5
    reward = PairwiseReward(judge, evidence="prompt")     # of plain text: no picture, no context
    verdict = reward.assess(samples)[0]
    verdict.score, verdict.parts["won"], verdict.parts["orders_disagree"]

Every pair is asked in both orders, with the answers A, B and C (tie), and a group is ranked in both
orders. Orders that disagree are a tie, so a judge that always prefers one place gives every
completion 0.5. Only completions of the same request and picture are compared. A failed vote is left
out. A completion without a readable pair has no score. With spans="ablation" each sentence is a
span, whose credit is the score less the score of the text without it.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import Literal

from spanreward.rewards.base.checks import Mode, check_choice
from spanreward.rewards.base.cost import Cost, tokens_in
from spanreward.rewards.base.verdict import NotApplicable, Sample, Status, Verdict
from spanreward.rewards.judges.judge import RATING_SCALE, Failure, Judge, Rating
from spanreward.rewards.judges.question import question_keys
from spanreward.rewards.pairwise.contest import (
    Contest,
    chances,
    cut_of,
    parts_of_contests,
    votes_in_words,
)
from spanreward.rewards.pairwise.questions import (
    Shown,
    ask_pair,
    ask_score,
    load_pairwise_prompts,
    opponents,
    show,
)
from spanreward.rewards.pairwise.ranking import (
    RANKING_TOKENS,
    ask_ranking,
    ask_rankings,
    read_rankings,
    votes_of,
)
from spanreward.rewards.pairwise.votes import cast
from spanreward.rewards.reward.row_reward import JudgedRow, Raw, RowReward, Spans
from spanreward.rewards.reward.rows import EVIDENCE, Evidence, judged

GROUP = 8  # completions of a prompt, as `cost` assumes


class PairwiseReward(RowReward):
    """Reward that compares, ranks or scores completions (MLLM-as-a-Judge, section 2). The score is
    in [0, 1].

    Against an anchor or references the score is the mean over all opponents: 1 for a win, 0.5 for a
    tie, 0 for a loss. Within a group it is the chance to beat an average completion of the group
    (Bradley-Terry over its pairs). It does not compare across prompts, and all completions of a
    group must come in one call. In form "score" it is the mean rating from 1 to 5, mapped to 0 to
    1.

    Args:
        judge: the judge. It must see pictures if rows have them.
        form: "pair" asks about every pair in both orders, one token with its distribution each.
            "batch" asks for a written ranking of the group, in both orders. "score" asks about
            every completion, one token each.
        anchor: the opponents in form "pair". None is the rest of the group, "anchor" the dataset
            column of that name, "reference" each of the references.
        evidence: "picture" shows the row's picture, or its `context` if it has none. "context"
            never shows a picture. "prompt" shows the request alone, for rows of plain text.
        prompts: a file like prompts.yaml. None is ours.
        mode: "default" penalises filler (rewards/text/filler.py), "published" does not.
        name: the reward's name in logs.
        spans: "ablation" also judges the text without each sentence, "none" only the text. Within a
            group there are no spans: name an anchor, or take form "score".
        judged_part: only this part of a completion is judged (rewards/text/judged_part.py).

    Raises:
        ValueError: an unknown form or anchor, an anchor in another form than "pair", spans within a
            group, another invalid option, or an invalid file of prompts.
        OSError: a file that cannot be read.
    """

    evidences = (*EVIDENCE, "prompt")

    def __init__(
        self,
        judge: Judge | str,
        *,
        form: Literal["pair", "batch", "score"] = "pair",
        anchor: Literal["anchor", "reference"] | None = None,
        evidence: Evidence | Literal["prompt"] = "picture",
        prompts: str | Path | None = None,
        mode: Mode = "default",
        name: str = "pairwise",
        spans: Spans = "none",
        judged_part: str | None = None,
    ) -> None:
        super().__init__(name, judge, mode, evidence, spans, judged_part)
        check_choice("form", form, ("pair", "batch", "score"))
        check_choice("anchor", anchor, ("anchor", "reference", None))
        if form != "pair" and anchor:
            raise ValueError(
                f'anchor is for form "pair", and form is {form!r}: leave out anchor={anchor!r}'
            )
        # a completion's score depends on the others of its group
        self.by_batch = form != "score" and not anchor
        if spans == "ablation" and self.by_batch:
            raise ValueError(
                'spans="ablation" judges each text alone: name an anchor, or take form="score"'
            )
        self.form = form
        self.anchor = anchor
        self.prompts = load_pairwise_prompts(prompts)
        self.wording = sha256(repr(self.prompts).encode()).hexdigest()[:16]
        self.columns = (anchor,) if anchor else ()
        if form == "score":
            self.main_parts = ("rating",)
        else:
            self.main_parts = ("won", "tied", "orders_disagree", "first_slot")

    def cost_of_text(self, words: float, references: int) -> Cost:
        """Returns the cost of one completion.

        The completions of a group of GROUP share their questions.
        """
        # the prompt of such a row, with as many words in place of its texts
        text = " ".join(["word"] * round(words))
        nothing = Shown("", only_request=self.evidence == "prompt")
        question = ask_pair(self.prompts, nothing, text, text)
        written = 1
        exact = True
        if self.form == "score":
            question = ask_score(self.prompts, nothing, text)
            count = 1.0
            how = "one rating"
        elif self.form == "batch":
            question = ask_ranking(self.prompts, nothing, [text] * GROUP)
            written = RANKING_TOKENS
            count = 2 / GROUP
            exact = False
            how = f"2 rankings of a group of {GROUP} (assumed), in both orders"
        elif self.anchor is None:
            # a group has GROUP * (GROUP - 1) / 2 pairs, each asked twice
            questions_of_group = GROUP * (GROUP - 1)
            count = GROUP - 1.0
            exact = False
            how = (
                f"all pairs in both orders: {questions_of_group} questions a group of {GROUP} "
                "(assumed)"
            )
        else:
            opposing_texts = references if self.anchor == "reference" else 1
            count = 2.0 * opposing_texts
            how = f"both orders against the {self.anchor}"
        read = tokens_in(question.messages[0]["content"])
        return Cost(count, read * count, written * count, exact, how)

    def lacks(self, missing: str, where: str, present: Sequence[str]) -> ValueError:
        """Returns the error for missing columns. Where evidence is missing it names the option of
        rows of plain text.
        """
        error = super().lacks(missing, where, present)
        # where evidence is missing, `missing` names all columns that could hold it
        if self.evidence == "picture" and "'context'" in missing:
            message = str(error).removesuffix(".")
            return ValueError(f"{message}; evidence=prompt compares texts by the prompt alone.")
        return error

    def check(self, sample: Sample) -> None:
        """Raises NotApplicable for a row without the anchor or references."""
        if self.anchor:
            opponents(sample, self.anchor)

    def show(self, sample: Sample) -> Shown:
        """Returns what the judge sees beside a row's texts. Raises NotApplicable as `check`."""
        self.check(sample)
        return show(sample, self.evidence)

    def check_groups(self, samples: Sequence[Sample]) -> None:
        """Raises ValueError for a batch that holds only a part of some group.

        In one process every group is whole. On several the number of completions of each request
        tells, but for batches that are a part of one group.
        """
        processes = int(os.environ.get("WORLD_SIZE", "1"))
        if not self.by_batch or processes == 1:
            return
        evidence: dict[int, Shown] = {}
        for number, sample in enumerate(samples):
            with suppress(NotApplicable):  # such a row is compared with none
                evidence[number] = self.show(sample)
        sizes = sorted({len(group) for group in self._groups(evidence)})
        # a completion alone cannot be compared; different sizes come from a cut through a group
        if sizes and (sizes[0] == 1 or len(sizes) > 1):
            in_words = " or ".join(map(str, sizes))
            raise ValueError(
                f"{self.__name__} compares the completions of a prompt, and this process has "
                f"{in_words} of one: make per_device_train_batch_size x steps_per_generation a "
                "multiple of num_generations, so that no group is cut."
            )

    def rate(self, rows: Sequence[JudgedRow], shown: dict[int, Shown]) -> list[Raw]:
        """Returns a raw verdict per row, in order. shown: what the judge sees, by the row's
        number.
        """
        if self.form == "score":
            return self._score(rows, shown)
        return self._compare(rows, shown)

    def _score(self, rows: Sequence[JudgedRow], evidence_of_rows: dict[int, Shown]) -> list[Raw]:
        """Returns the raw verdicts of form "score"."""
        questions = []
        for number, sample, _ in rows:
            questions.append(ask_score(self.prompts, evidence_of_rows[number], judged(sample)))
        return [_scored(rating) for rating in self.judge.rate(questions)]

    def _compare(self, rows: Sequence[JudgedRow], evidence_of_rows: dict[int, Shown]) -> list[Raw]:
        """Returns the raw verdicts after the contests.

        An empty text, which is no row, loses to every other one.
        """
        evidence: dict[int, Shown] = {}  # as `texts`: by the number of a contest's sample
        texts: dict[int, str] = {}
        if self.anchor:
            # contests count the rows by their place: with ablation a number has several
            for place, (number, sample, _) in enumerate(rows):
                evidence[place] = evidence_of_rows[number]
                texts[place] = judged(sample)
            groups = self._anchor_contests(rows, self.anchor)
        else:
            evidence = evidence_of_rows  # of the samples with an empty text, too
            for number, sample, _ in rows:
                texts[number] = judged(sample)
            groups = [_group_contests(group, texts) for group in self._groups(evidence)]
        # contests without a question first, then those that the judge decides
        contests = []
        undecided = []
        for group in groups:
            open_contests = [contest for contest in group if contest.open]
            contests += [contest for contest in group if not contest.open]
            if open_contests:
                undecided.append(open_contests)
        if self.form == "batch":
            contests += self._rank(undecided, evidence)
        else:
            contests += self._vote(undecided, evidence)
        # against anchors every text stands alone, and its score is its own mean
        strengths = {} if self.anchor else chances(contests)
        verdicts = []
        for number, text in texts.items():
            of_text = [contest for contest in contests if number in (contest.sample, contest.other)]
            cuts = [cut_of(contest, text) for contest in of_text]
            cut = max(cuts, default=0)
            verdicts.append((self._verdict(number, of_text, strengths), cut))
        return verdicts

    def _anchor_contests(self, rows: Sequence[JudgedRow], anchor: str) -> list[list[Contest]]:
        """Returns the contests of each row's text with its anchor or references, row by row."""
        groups = []
        for place, (_, sample, _) in enumerate(rows):
            text = judged(sample)
            contests = []
            for opposing_text in opponents(sample, anchor):
                contests.append(Contest(place, None, (text, opposing_text)))
            groups.append(contests)
        return groups

    def _groups(self, evidence: dict[int, Shown]) -> list[list[int]]:
        """Returns the samples' numbers by group: those of the same request and picture.

        evidence: what the judge sees, by the sample's number.
        """
        # A key counts a picture by how it looks, so a picture that was loaded twice is the same.
        questions = []
        for evidence_of_sample in evidence.values():
            questions.append(ask_pair(self.prompts, evidence_of_sample, "", ""))
        keys = question_keys(questions)
        groups: dict[str, list[int]] = {}
        for number, key in zip(evidence, keys, strict=True):
            groups.setdefault(key, []).append(number)
        return list(groups.values())

    def _vote(
        self, groups: Sequence[Sequence[Contest]], evidence: dict[int, Shown]
    ) -> list[Contest]:
        """Returns all contests with the votes on their pairs. evidence: by the contests' sample."""
        contests = [contest for group in groups for contest in group]
        questions = []
        for contest in contests:
            first, second = contest.texts
            evidence_of_pair = evidence[contest.sample]
            questions.append(ask_pair(self.prompts, evidence_of_pair, first, second))
            questions.append(ask_pair(self.prompts, evidence_of_pair, second, first))
        votes = cast(self.judge, questions)
        decided = []
        for contest, votes_on_pair in zip(contests, votes, strict=True):
            decided.append(replace(contest, votes=votes_on_pair))
        return decided

    def _rank(
        self, groups: Sequence[Sequence[Contest]], evidence: dict[int, Shown]
    ) -> list[Contest]:
        """Returns all contests with the votes of the two rankings of their group's distinct
        texts. evidence: by the contests' sample.
        """
        # What each group's question shows. Equal texts are shown once: there is no ranking of them.
        evidence_and_texts: list[tuple[Shown, list[str]]] = []
        for group in groups:
            distinct: dict[str, None] = {}  # in the order of their first contest
            for contest in group:
                distinct.update(dict.fromkeys(contest.texts))
            first_sample = group[0].sample  # the whole group has the same evidence
            evidence_and_texts.append((evidence[first_sample], list(distinct)))
        questions = ask_rankings(self.prompts, evidence_and_texts)
        written = self.judge.write(questions, RANKING_TOKENS)
        counts = [len(texts) for _, texts in evidence_and_texts]
        rankings = read_rankings(written, counts)
        contests = []
        for group, (_, texts), both_rankings in zip(
            groups, evidence_and_texts, rankings, strict=True
        ):
            for contest in group:
                first_text, second_text = contest.texts
                first = texts.index(first_text)
                second = texts.index(second_text)
                votes = votes_of(both_rankings, first, second)
                contests.append(replace(contest, votes=votes))
        return contests

    def _verdict(
        self,
        number: int,
        contests: Sequence[Contest],
        strengths: dict[str, float],
    ) -> Verdict:
        """Returns the verdict from the sample's own contests, in which it may be on either side.

        strengths: the chance of each sample, by its number as a string. {} with an anchor.
        """
        if not contests:
            note = (
                "no other completion of this request is in the batch: compare with an anchor "
                "or a reference"
            )
            return Verdict(None, Status.NOT_APPLICABLE, note=note)
        outcomes = []  # from the sample's side
        for contest in contests:
            outcome = contest.outcome
            if outcome is None:  # a vote failed
                continue
            if contest.sample != number:
                outcome = -outcome
            outcomes.append(outcome)
        if not outcomes:
            # the first failure stands for all
            votes = [contest.votes for contest in contests if contest.votes]
            failure = next(pair.failure for pair in votes if pair.failure)
            note = f"no pair could be judged: {failure.message}"
            return Verdict(None, failure.status, note=note)
        if self.anchor:
            # 2 for a win, 1 for a tie, 0 for a loss
            points = sum(1 + outcome for outcome in outcomes)
            score = points / 2 / len(outcomes)
        else:
            score = strengths[str(number)]
        parts = parts_of_contests(outcomes, contests)
        return Verdict(score, parts=parts, note=votes_in_words(number, contests))


def _group_contests(group: Sequence[int], texts: Mapping[int, str]) -> list[Contest]:
    """Returns the contests of a group's samples with each other, but for those of two empty texts.

    texts: by the sample's number; an empty text is not in it.
    """
    contests = []
    for first, second in combinations(group, 2):
        first_says = first in texts
        second_says = second in texts
        if not first_says and not second_says:
            continue
        pair = (texts.get(first, ""), texts.get(second, ""))
        certain = _won_without_asking(first_says, second_says)
        contests.append(Contest(first, second, pair, certain=certain))
    return contests


def _won_without_asking(first_says: bool, second_says: bool) -> int:
    """Returns 1, 0 or -1: an empty text loses to every other one. first_says: whether the text is
    not empty.
    """
    if first_says == second_says:
        return 0
    return 1 if first_says else -1


def _scored(rating: Rating | Failure) -> Raw:
    """Returns the verdict for a rating from 1 to 5, and how many characters the judge did not
    read.
    """
    if isinstance(rating, Failure):
        return Verdict(None, rating.status, note=rating.message), 0
    steps = len(RATING_SCALE) - 1
    score = (rating.mean - 1) / steps
    score = min(max(score, 0.0), 1.0)  # a mean of shares can round to a little beyond the scale
    return Verdict(score, parts={"rating": rating.mean}), rating.cut
