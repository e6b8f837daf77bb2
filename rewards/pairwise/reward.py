"""MLLM-as-a-Judge as a reward: compares completions with each other, with an anchor or with a
reference, or scores each completion alone.

    reward = PairwiseReward(judge)  # within the GRPO group; needs image, images or context
    reward = PairwiseReward(judge, anchor="anchor")
    # against the dataset column `anchor`, such as the answers of an SFT model
    reward = PairwiseReward(judge, form="batch")          # ranks the group in one question, twice
    reward = PairwiseReward(judge, form="score")          # rates each completion alone, from 1 to 5
    reward = PairwiseReward(judge, evidence="prompt")     # plain text: no picture and no context
    verdict = reward.assess(samples)[0]
    verdict.score, verdict.parts["won"], verdict.parts["orders_disagree"]

Only completions of the same request and picture are compared. The judge sees every pair in both
orders, and answers A, B or C (tie). A group is ranked in both orders too. Two orders that disagree
make a tie. A judge that always prefers one place therefore gives every completion 0.5.

A failed vote is left out. A completion has no score if all its votes failed. With spans="ablation"
each sentence is a span. Its credit is the score minus the score of the text without the sentence.
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
    chances_to_win,
    cut_of,
    parts_of_contests,
    votes_in_words,
)
from spanreward.rewards.pairwise.questions import (
    Shown,
    ask_pair,
    ask_score,
    load_pairwise_prompts,
    shown_evidence,
    texts_of_opponents,
)
from spanreward.rewards.pairwise.ranking import (
    RANKING_TOKENS,
    ask_ranking,
    ask_rankings,
    read_rankings,
    votes_of,
)
from spanreward.rewards.pairwise.votes import cast_votes
from spanreward.rewards.reward.row_reward import JudgedRow, RawVerdict, RowReward, Spans
from spanreward.rewards.reward.rows import EVIDENCE, Evidence, judged_beginning

ASSUMED_GROUP_SIZE = 8  # the number of completions of a prompt that `cost` assumes


class PairwiseReward(RowReward):
    """Reward that compares, ranks or scores completions (MLLM-as-a-Judge, section 2). The score is
    in [0, 1].

    Against an anchor or references, the score is the mean over all opponents: 1 for a win, 0.5 for
    a tie, 0 for a loss. Within a group, the score is the chance to beat an average completion of
    the group (Bradley-Terry over its pairs). Such scores are not comparable across prompts, and all
    completions of a group must come in one call. In form "score", the score is the mean rating from
    1 to 5, mapped to 0 to 1.

    Args:
        judge: the judge. It must see pictures if rows have pictures.
        form: "pair" asks about every pair in both orders, with one token per answer. "batch" asks
            for a written ranking of the group, in both orders. "score" asks about every completion
            alone, with one token per answer.
        anchor: the opponents in form "pair". None stands for the rest of the group, "anchor" for
            the dataset column of that name, "reference" for each of the references.
        evidence: "picture" shows the row's picture, or the row's `context` if the row has no
            picture. "context" never shows a picture. "prompt" shows only the request, for rows of
            plain text.
        prompts: a file like prompts.yaml. None stands for prompts.yaml.
        mode: "default" penalises filler (rewards/text/filler.py), "published" does not.
        name: the reward's name in logs.
        spans: "ablation" also judges the text without each sentence, "none" judges only the text.
            Within a group there are no spans: name an anchor, or take form "score".
        judged_part: only this part of a completion is judged (rewards/text/judged_part.py).

    Raises:
        ValueError: an unknown form or anchor, an anchor in a form other than "pair", spans within a
            group, another invalid option, or an invalid file of prompts.
        OSError: an unreadable file of prompts.
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
        # within a group, a completion's score depends on the other completions
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
        """Returns the cost of one completion without spans.

        Questions about a group are shared by its completions, so one completion has a fraction of
        them (`_questions_a_completion`).

        words: the number of words of the completion. references: the row's number of references.
        """
        count, how = self._questions_a_completion(references)
        read_per_question = tokens_in(self._prompt_of_length(words))
        written_per_question = RANKING_TOKENS if self.form == "batch" else 1
        return Cost(
            questions=count,
            prompt_tokens=read_per_question * count,
            written_tokens=written_per_question * count,
            exact=not self.by_batch,  # the size of a group is assumed
            how=how,
        )

    def _prompt_of_length(self, words: float) -> str:
        """Returns the prompt of a question about texts of this many words, to count its tokens."""
        text = " ".join(["word"] * round(words))
        nothing = Shown("", only_request=self.evidence == "prompt")
        if self.form == "score":
            question = ask_score(self.prompts, nothing, text)
        elif self.form == "batch":
            question = ask_ranking(self.prompts, nothing, [text] * ASSUMED_GROUP_SIZE)
        else:
            question = ask_pair(self.prompts, nothing, text, text)
        content: str = question.messages[0]["content"]
        return content

    def _questions_a_completion(self, references: int) -> tuple[float, str]:
        """Returns the number of questions per completion, and the questions in words.

        references: the row's number of references.
        """
        if self.form == "score":
            return 1.0, "one rating"
        if self.form == "batch":
            how = f"2 rankings of a group of {ASSUMED_GROUP_SIZE} (assumed), in both orders"
            return 2 / ASSUMED_GROUP_SIZE, how
        if self.anchor is None:
            # a group has ASSUMED_GROUP_SIZE * (ASSUMED_GROUP_SIZE - 1) / 2 pairs, each asked twice
            opponents = ASSUMED_GROUP_SIZE - 1
            how = (
                f"all pairs in both orders: {ASSUMED_GROUP_SIZE * opponents} questions a group of "
                f"{ASSUMED_GROUP_SIZE} (assumed)"
            )
            return float(opponents), how
        opponents = references if self.anchor == "reference" else 1
        return 2.0 * opponents, f"both orders against the {self.anchor}"

    def lacks(self, missing: str, where: str, present: Sequence[str]) -> ValueError:
        """Returns the error for a missing column, see `Reward.lacks`.

        If the evidence is missing, the message also names the option for rows of plain text.
        """
        error = super().lacks(missing, where, present)
        # If the evidence is missing, `missing` names every column that could hold it, such as
        # "'image' or 'context'". No other missing column is named with 'context'.
        if self.evidence == "picture" and "'context'" in missing:
            message = str(error).removesuffix(".")
            return ValueError(f"{message}; evidence=prompt compares texts by the prompt alone.")
        return error

    def check(self, sample: Sample) -> None:
        """Raises NotApplicable for a row without the needed anchor or references."""
        if self.anchor:
            texts_of_opponents(sample, self.anchor)

    def show(self, sample: Sample) -> Shown:
        """Returns the request and the evidence that the judge sees beside the row's texts.

        Raises NotApplicable for a row without this evidence, or without the needed anchor or
        references.
        """
        self.check(sample)
        return shown_evidence(sample, self.evidence)

    def check_groups(self, samples: Sequence[Sample]) -> None:
        """Raises ValueError if this process has only a part of some group.

        A single process always has whole groups. With several processes, a cut is visible if groups
        have different sizes or only one completion. A batch that is one part of one group passes
        unnoticed.
        """
        processes = int(os.environ.get("WORLD_SIZE", "1"))
        if not self.by_batch or processes == 1:
            return
        evidence: dict[int, Shown] = {}
        for number, sample in enumerate(samples):
            with suppress(NotApplicable):  # a row without evidence is not compared
                evidence[number] = self.show(sample)
        sizes = sorted({len(group) for group in self._groups(evidence)})
        # a single completion cannot be compared, and different sizes mean that a group was cut
        if sizes and (sizes[0] == 1 or len(sizes) > 1):
            in_words = " or ".join(map(str, sizes))
            raise ValueError(
                f"{self.__name__} compares the completions of a prompt, and this process has "
                f"{in_words} of one: make per_device_train_batch_size x steps_per_generation a "
                "multiple of num_generations, so that no group is cut."
            )

    def rate(self, rows: Sequence[JudgedRow], shown: dict[int, Shown]) -> list[RawVerdict]:
        """Returns a verdict before penalties for each row, in order, with the number of unread
        characters.

        shown: the result of `shown_evidence` for each row, by the row's number.
        """
        # form "score" rates each text alone; the other forms compare the texts of a group
        if self.form == "score":
            return self._verdicts_of_scores(rows, shown)
        return self._verdicts_of_contests(rows, shown)

    def _verdicts_of_scores(
        self, rows: Sequence[JudgedRow], evidence_of_rows: dict[int, Shown]
    ) -> list[RawVerdict]:
        """Returns for each row the verdict of a reward with form="score", in which the judge rates
        each text alone. The verdict is before penalties, and has the number of unread characters.
        """
        questions = []
        for number, sample, _ in rows:
            questions.append(
                ask_score(self.prompts, evidence_of_rows[number], judged_beginning(sample))
            )
        return [_verdict_of_score(rating) for rating in self.judge.rate(questions)]

    def _verdicts_of_contests(
        self, rows: Sequence[JudgedRow], evidence_of_rows: dict[int, Shown]
    ) -> list[RawVerdict]:
        """Returns for each row the verdict of a reward with form="pair" or form="batch", in which
        the judge compares texts. The verdict is before penalties, and has the number of unread
        characters.

        An empty completion has no row here, but loses to every other completion of its group.

        Args:
            rows: the rows in question.
            evidence_of_rows: the result of `shown_evidence` for each row, and for each sample with
                an empty completion.
        """
        # The keys of both are the numbers by which the contests name their samples.
        evidence: dict[int, Shown] = {}
        texts: dict[int, str] = {}
        if self.anchor:
            # The number is the row's place in `rows`, because with ablation several rows have the
            # same number in the batch.
            for place, (number_in_batch, sample, _) in enumerate(rows):
                evidence[place] = evidence_of_rows[number_in_batch]
                texts[place] = judged_beginning(sample)
            groups = self._anchor_contests(rows, self.anchor)
        else:
            # The number is the row's number in the batch. Samples with an empty completion have a
            # number and evidence, too, but no text.
            evidence = evidence_of_rows
            for number_in_batch, sample, _ in rows:
                texts[number_in_batch] = judged_beginning(sample)
            groups = [_group_contests(group, texts) for group in self._groups(evidence)]
        contests = self._decided(groups, evidence)
        # against anchors, a text's score is the mean over its own contests
        chances = {} if self.anchor else chances_to_win(contests)
        verdicts = []
        for number, text in texts.items():
            of_text = [contest for contest in contests if number in (contest.sample, contest.other)]
            cuts = [cut_of(contest, text) for contest in of_text]
            verdict = self._verdict(number, of_text, chances)
            verdicts.append((verdict, max(cuts, default=0)))
        return verdicts

    def _decided(
        self, groups: Sequence[Sequence[Contest]], evidence: dict[int, Shown]
    ) -> list[Contest]:
        """Returns all contests of the groups, with the judge's votes if the judge has to decide.
        Contests without a question come first.

        evidence: the result of `shown_evidence`, by the number of a contest's sample.
        """
        contests = []
        undecided = []  # like `groups`, with only the contests that the judge decides
        for group in groups:
            open_contests = [contest for contest in group if contest.open]
            contests += [contest for contest in group if not contest.open]
            if open_contests:
                undecided.append(open_contests)
        if self.form == "batch":
            contests += self._with_ranked_votes(undecided, evidence)
        else:
            contests += self._with_votes(undecided, evidence)
        return contests

    def _anchor_contests(self, rows: Sequence[JudgedRow], anchor: str) -> list[list[Contest]]:
        """Returns the contests of each row's text with its anchor or references, one list per row.

        anchor: "anchor" or "reference".
        """
        groups = []
        for place, (_, sample, _) in enumerate(rows):
            text = judged_beginning(sample)
            contests = []
            for opposing_text in texts_of_opponents(sample, anchor):
                contests.append(Contest(place, None, (text, opposing_text)))
            groups.append(contests)
        return groups

    def _groups(self, evidence: dict[int, Shown]) -> list[list[int]]:
        """Returns the groups: lists of the numbers of samples with the same request and picture.

        evidence: the result of `shown_evidence`, by the sample's number.
        """
        # Samples are compared by the key of a question with their request and picture. The key has
        # the picture's content, so two copies of a picture in memory are one picture.
        questions = []
        for evidence_of_sample in evidence.values():
            questions.append(ask_pair(self.prompts, evidence_of_sample, "", ""))
        keys = question_keys(questions)
        groups: dict[str, list[int]] = {}
        for number, key in zip(evidence, keys, strict=True):
            groups.setdefault(key, []).append(number)
        return list(groups.values())

    def _with_votes(
        self, groups: Sequence[Sequence[Contest]], evidence: dict[int, Shown]
    ) -> list[Contest]:
        """Returns all contests with the judge's votes.

        Args:
            groups: lists of contests without votes.
            evidence: the result of `shown_evidence`, by the number of a contest's sample.
        """
        contests: list[Contest] = []
        for group in groups:
            contests += group
        questions = []
        for contest in contests:
            first, second = contest.texts
            evidence_of_pair = evidence[contest.sample]
            questions.append(ask_pair(self.prompts, evidence_of_pair, first, second))
            questions.append(ask_pair(self.prompts, evidence_of_pair, second, first))
        votes = cast_votes(self.judge, questions)
        decided = []
        for contest, votes_on_pair in zip(contests, votes, strict=True):
            decided.append(replace(contest, votes=votes_on_pair))
        return decided

    def _with_ranked_votes(
        self, groups: Sequence[Sequence[Contest]], evidence: dict[int, Shown]
    ) -> list[Contest]:
        """Returns all contests with the votes from two rankings per group.

        Args:
            groups: lists of contests without votes.
            evidence: the result of `shown_evidence`, by the number of a contest's sample.
        """
        evidence_and_texts: list[tuple[Shown, list[str]]] = []
        for group in groups:
            first_sample = group[0].sample  # the whole group has the same evidence
            evidence_and_texts.append((evidence[first_sample], _distinct_texts(group)))
        # rank each group in both orders
        questions = ask_rankings(self.prompts, evidence_and_texts)
        written = self.judge.write(questions, RANKING_TOKENS)
        counts = [len(texts) for _, texts in evidence_and_texts]
        rankings = read_rankings(written, counts)
        # read the votes on each contest's two texts from the rankings
        contests = []
        ranked_groups = zip(groups, evidence_and_texts, rankings, strict=True)
        for group, (_, texts), both_rankings in ranked_groups:
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
        chances: dict[str, float],
    ) -> Verdict:
        """Returns the verdict of a sample from its own contests.

        Args:
            number: the sample's number, on either side of a contest.
            contests: the sample's contests, with votes.
            chances: each sample's chance to win, by its number as a string. {} with an anchor.
        """
        if not contests:
            note = (
                "no other completion of this request is in the batch: compare with an anchor "
                "or a reference"
            )
            return Verdict(None, Status.NOT_APPLICABLE, note=note)
        outcomes = _outcomes_of(number, contests)
        if not outcomes:
            # the note has the first failure only
            votes = [contest.votes for contest in contests if contest.votes]
            failure = next(pair.failure for pair in votes if pair.failure)
            note = f"no pair could be judged: {failure.message}"
            return Verdict(None, failure.status, note=note)
        if self.anchor:
            # 2 for a win, 1 for a tie, 0 for a loss
            points = sum(1 + outcome for outcome in outcomes)
            score = points / 2 / len(outcomes)
        else:
            score = chances[str(number)]
        parts = parts_of_contests(outcomes, contests)
        return Verdict(score, parts=parts, note=votes_in_words(number, contests))


def _outcomes_of(number: int, contests: Sequence[Contest]) -> list[int]:
    """Returns the outcomes of a sample's contests: 1 if the sample's text won, 0 for a tie, -1 if
    it lost. Contests with a failed vote are left out.

    number: the sample's number, on either side of a contest.
    """
    outcomes = []
    for contest in contests:
        outcome = contest.outcome
        if outcome is None:  # a vote failed
            continue
        if contest.sample != number:  # `Contest.outcome` is from the side of the other text
            outcome = -outcome
        outcomes.append(outcome)
    return outcomes


def _distinct_texts(contests: Sequence[Contest]) -> list[str]:
    """Returns the texts of a group's contests, in order. Equal texts are returned once, because a
    judge cannot rank them.
    """
    distinct: dict[str, None] = {}  # a set that keeps the order
    for contest in contests:
        for text in contest.texts:
            distinct[text] = None
    return list(distinct)


def _group_contests(group: Sequence[int], texts: Mapping[int, str]) -> list[Contest]:
    """Returns the contests between all pairs of a group, without pairs of two empty texts.

    Args:
        group: the samples' numbers.
        texts: each sample's text by its number. Empty texts are missing.
    """
    contests = []
    for first, second in combinations(group, 2):
        has_first = first in texts
        has_second = second in texts
        if not has_first and not has_second:
            continue
        pair = (texts.get(first, ""), texts.get(second, ""))
        certain = _won_without_asking(has_first, has_second)
        contests.append(Contest(first, second, pair, certain=certain))
    return contests


def _won_without_asking(has_first: bool, has_second: bool) -> int:
    """Returns the outcome of a contest that needs no judge, because an empty text loses.

    The outcome is 1 if only the second text is empty, -1 if only the first text is empty, otherwise
    0.

    has_first, has_second: whether the text is not empty.
    """
    if has_first == has_second:
        return 0
    return 1 if has_first else -1


def _verdict_of_score(rating: Rating | Failure) -> RawVerdict:
    """Returns the verdict for a rating from 1 to 5, with the number of unread characters."""
    if isinstance(rating, Failure):
        return Verdict(None, rating.status, note=rating.message), 0
    steps = len(RATING_SCALE) - 1
    score = (rating.mean - 1) / steps
    score = min(max(score, 0.0), 1.0)  # rounding can put a mean slightly outside the scale
    return Verdict(score, parts={"rating": rating.mean}), rating.cut
