"""MLLM-as-a-Judge as a reward: compares completions with each other, an anchor or a reference, or scores them alone.

    reward = PairwiseReward(judge)                        # within the GRPO group; needs image, images or context
    reward = PairwiseReward(judge, anchor="anchor")       # against the dataset column `anchor`, such as SFT's answers
    reward = PairwiseReward(judge, form="batch")          # ranks the group in one question, twice
    reward = PairwiseReward(judge, form="score")          # rates each completion alone, from 1 to 5
    verdict = reward.assess(samples)[0]
    verdict.score, verdict.parts["won"], verdict.parts["orders_disagree"], verdict.parts["first_slot"]

Every pair is asked in both orders, with the answers A, B and C (tie), and a group is ranked in both orders. Orders that
disagree are a tie, so a judge that always prefers one place gives every completion 0.5. Only completions of the same
request and picture are compared. A failed vote is left out. A completion without a readable pair has no score.
"""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import Literal

from spanreward.rewards.base.checks import MODES, Mode, check_choice
from spanreward.rewards.base.cost import Cost, tokens_in
from spanreward.rewards.base.verdict import NotApplicable, Sample, Status, Verdict
from spanreward.rewards.judges.by_name import as_judge
from spanreward.rewards.judges.judge import RATING_SCALE, Failure, Judge, Rating
from spanreward.rewards.judges.shared.cached_judge import question_keys, rate_once
from spanreward.rewards.pairwise.analysis import ANALYSIS_TOKENS, after_analysis
from spanreward.rewards.pairwise.contest import Contest, chances, cut_of, parts_of, votes_in_words
from spanreward.rewards.pairwise.questions import Shown, ask, ask_score, load_prompts
from spanreward.rewards.pairwise.ranking import RANKING_TOKENS, ask_ranking, rank, votes_of
from spanreward.rewards.pairwise.rows import judged, penalise, sort_rows
from spanreward.rewards.pairwise.votes import cast
from spanreward.rewards.reward.evidence import EVIDENCE, Evidence, evidence_columns
from spanreward.rewards.reward.reward import Reward

GROUP = 8  # completions of a prompt, as `cost` assumes


class PairwiseReward(Reward):
    """Reward that compares, ranks or scores completions (MLLM-as-a-Judge, section 2). The score is in [0, 1].

    Against an anchor or references the score is the mean over all opponents: 1 for a win, 0.5 for a tie, 0 for a loss.
    Within a group it is the chance to beat an average completion of the group (Bradley-Terry over its pairs). It does
    not compare across prompts, and all completions of a group must come in one call. In form "score" it is the mean
    rating from 1 to 5, mapped to 0 to 1.

    Args:
        judge: the judge. It must see pictures if rows have them.
        form: "pair" asks about every pair in both orders, one token with its distribution each. "batch" asks for a
            written ranking of the group, in both orders. "score" asks about every completion, one token each.
        anchor: the opponents in form "pair". None is the rest of the group, "anchor" the dataset column of that name,
            "reference" each of the references.
        smooth: whether probabilities replace the votes on pairs.
        analyse: whether the judge writes an analysis before it decides (section 3.1).
        evidence: "picture" shows the row's picture, or its `context` if it has none. "context" never shows a picture.
        prompts: a file like prompts.yaml. None is ours.
        mode: "default" penalises filler (rewards/text/filler.py), "published" does not.
        name: the reward's name in logs.
    """

    def __init__(
        self,
        judge: Judge | str,
        form: Literal["pair", "batch", "score"] = "pair",
        anchor: Literal["anchor", "reference"] | None = None,
        smooth: bool = False,
        analyse: bool = False,
        evidence: Evidence = "picture",
        prompts: str | Path | None = None,
        mode: Mode = "default",
        name: str = "pairwise",
    ) -> None:
        super().__init__(name)
        check_choice("form", form, ("pair", "batch", "score"))
        check_choice("mode", mode, MODES)
        check_choice("anchor", anchor, ("anchor", "reference", None))
        check_choice("evidence", evidence, EVIDENCE)
        for option, value in (("anchor", anchor), ("smooth", smooth)):
            if form != "pair" and value:
                raise ValueError(f'{option} is for form "pair", and form is {form!r}: leave out {option}={value!r}')
        self.judge = as_judge(judge)
        self.judges = (self.judge,)
        self.form = form
        self.mode = mode
        self.anchor = anchor
        self.smooth = smooth
        self.analyse = analyse
        self.evidence: Evidence = evidence
        self.prompts = load_prompts(prompts)
        self.wording = sha256(repr(self.prompts).encode()).hexdigest()[:16]
        self.columns = (anchor,) if anchor else ()
        self.one_of = evidence_columns(evidence)
        self.main_parts = ("rating",) if form == "score" else ("won", "tied", "orders_disagree", "first_slot")

    def cost(self, words: float, references: int) -> Cost:
        """Returns the cost of one completion. The completions of a group of GROUP share their questions."""
        text = " ".join(["word"] * round(words))
        pair = tokens_in(ask(self.prompts, Shown(""), text, text).messages[0]["content"])
        if self.form == "score":
            read = tokens_in(ask_score(self.prompts, Shown(""), text).messages[0]["content"])
            count, written, exact, how = 1.0, 1.0, True, "one rating"
        elif self.form == "batch":
            read = tokens_in(ask_ranking(self.prompts, Shown(""), [text] * GROUP).messages[0]["content"])
            count, exact = 2 / GROUP, False
            written, how = count * RANKING_TOKENS, f"2 rankings of a group of {GROUP} (assumed), in both orders"
        elif self.anchor is None:
            read, count, written, exact = pair, GROUP - 1.0, GROUP - 1.0, False
            how = f"all pairs in both orders: {GROUP * (GROUP - 1)} questions a group of {GROUP} (assumed)"
        else:
            count = 2.0 * (references if self.anchor == "reference" else 1)
            read, written, exact, how = pair, count, True, f"both orders against the {self.anchor}"
        if not self.analyse:
            return Cost(count, read * count, written, exact, how)
        twice = read * 2 + ANALYSIS_TOKENS
        return Cost(2 * count, twice * count, written + ANALYSIS_TOKENS * count, exact, f"{how}, each analysed first")

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Returns one Verdict per sample, in order. All questions are one call, equal ones once."""
        shown, verdicts = sort_rows(samples, self.evidence, self._check)
        texts = {number: judged(samples[number]) for number in shown}
        asked = [number for number in shown if number not in verdicts]
        if self.form == "score":
            verdicts |= self._scored({number: samples[number] for number in asked}, shown)
            return [verdicts[number] for number in range(len(samples))]
        if self.anchor:
            met = [(number, other) for number in asked for other in self._opponents(samples[number])]
            contests = self._decide([Contest(number, None, (texts[number], other)) for number, other in met], shown)
        else:
            contests = self._within(texts, set(asked), shown)
        strengths = {} if self.anchor else chances(contests, self.smooth)
        for number in asked:
            of_sample = [contest for contest in contests if number in (contest.sample, contest.other)]
            cut = max((cut_of(contest, texts[number]) for contest in of_sample), default=0)
            verdicts[number] = penalise(self._verdict(number, of_sample, strengths), samples[number], self.mode, cut)
        return [verdicts[number] for number in range(len(samples))]

    def _check(self, sample: Sample) -> None:
        """Raises NotApplicable for a row without an opponent."""
        if self.anchor == "anchor" and not (sample.anchor or "").strip():
            raise NotApplicable("this row has no anchor, a text to compare the completion with")
        if self.anchor == "reference" and not sample.references:
            raise NotApplicable("this row has no reference to compare the completion with")

    def _scored(self, samples: dict[int, Sample], shown: dict[int, Shown]) -> dict[int, Verdict]:
        questions = [ask_score(self.prompts, shown[number], judged(sample)) for number, sample in samples.items()]
        asked = after_analysis(self.judge, questions, self.prompts.rating, self.prompts) if self.analyse else questions
        ratings = rate_once(self.judge, asked)
        return {n: _scored(rating, samples[n], self.mode) for n, rating in zip(samples, ratings, strict=True)}

    def _groups(self, shown: dict[int, Shown]) -> list[list[int]]:
        """Returns the samples by group: those of the same request and picture."""
        keys = question_keys([ask(self.prompts, evidence, "", "") for evidence in shown.values()], {})
        groups: dict[str, list[int]] = {}
        for number, key in zip(shown, keys, strict=True):
            groups.setdefault(key, []).append(number)
        return list(groups.values())

    def _opponents(self, sample: Sample) -> tuple[str, ...]:
        return sample.references if self.anchor == "reference" else (sample.anchor or "",)

    def _within(self, texts: dict[int, str], asked: set[int], shown: dict[int, Shown]) -> list[Contest]:
        """Returns all contests within the groups. An empty text, which is not in `asked`, loses to every other one."""
        groups = self._groups(shown)
        contests = [
            Contest(one, other, (texts[one], texts[other]), certain=(one in asked) - (other in asked))
            for group in groups
            for one, other in combinations(group, 2)
            if (one in asked) != (other in asked)
        ]
        players = [[number for number in group if number in asked] for group in groups]
        if self.form == "batch":
            return contests + self._rank(players, texts, shown)
        pairs = [pair for group in players for pair in combinations(group, 2)]
        undecided = [Contest(one, other, (texts[one], texts[other])) for one, other in pairs]
        return contests + self._decide(undecided, shown)

    def _decide(self, contests: Sequence[Contest], shown: dict[int, Shown]) -> list[Contest]:
        """Returns the contests with their votes."""
        open_ = [contest for contest in contests if contest.open]
        ways = [(contest.sample, way) for contest in open_ for way in (contest.texts, contest.texts[::-1])]
        questions = [ask(self.prompts, shown[number], *way) for number, way in ways]
        asked = after_analysis(self.judge, questions, self.prompts.answer, self.prompts) if self.analyse else questions
        votes = dict(zip(map(id, open_), cast(self.judge, asked), strict=True))
        return [replace(contest, votes=votes.get(id(contest))) for contest in contests]

    def _rank(self, players: Sequence[Sequence[int]], texts: dict[int, str], shown: dict[int, Shown]) -> list[Contest]:
        """Returns every pair of every group, decided by the two rankings of the group's distinct texts."""
        different = [list(dict.fromkeys(texts[number] for number in group)) for group in players]
        to_rank = [number for number, group in enumerate(different) if len(group) > 1]
        asked = [(shown[players[number][0]], different[number]) for number in to_rank]
        rankings = dict(zip(to_rank, rank(self.judge, asked, self.prompts, self.analyse), strict=True))
        contests = []
        for number, group in enumerate(players):
            place = {text: at for at, text in enumerate(different[number])}
            votes = votes_of(*rankings[number], len(place)) if number in rankings else {}
            for one, other in combinations(sorted(group, key=lambda player: place[texts[player]]), 2):
                pair = (place[texts[one]], place[texts[other]])
                contests.append(Contest(one, other, (texts[one], texts[other]), votes.get(pair)))
        return contests

    def _verdict(self, number: int, contests: Sequence[Contest], strengths: dict[str, float]) -> Verdict:
        """Returns the verdict from the sample's own contests, in which it may be on either side."""
        if not contests:
            note = "no other completion of this request is in the batch: compare with an anchor or a reference"
            return Verdict(None, Status.NOT_APPLICABLE, note=note)
        read = [contest for contest in contests if contest.outcome is not None]
        if not read:
            failure = next(contest.votes.failure for contest in contests if contest.votes and contest.votes.failure)
            return Verdict(None, failure.status, note=f"no pair could be judged: {failure.message}")
        outcomes = [(contest.outcome or 0) * (1 if contest.sample == number else -1) for contest in read]
        if not self.anchor:
            score = strengths[str(number)]
        elif self.smooth:
            score = sum(contest.share or 0.0 for contest in read) / len(read)
        else:
            score = sum(1 + outcome for outcome in outcomes) / 2 / len(read)
        return Verdict(score, parts=parts_of(outcomes, contests), note=votes_in_words(number, contests))


def _scored(rating: Rating | Failure, sample: Sample, mode: Mode) -> Verdict:
    """Returns the verdict for a rating from 1 to 5."""
    if isinstance(rating, Failure):
        return Verdict(None, rating.status, note=rating.message)
    score = min(max((rating.mean - 1) / (len(RATING_SCALE) - 1), 0.0), 1.0)
    return penalise(Verdict(score, parts={"rating": rating.mean}), sample, mode, rating.cut)
