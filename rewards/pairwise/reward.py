"""MLLM-as-a-Judge as a reward: is a completion better than an anchor, the reference or its siblings, or how good is it?

    reward = PairwiseReward(judge)                        # inside the GRPO group: needs image, images or context
    reward = PairwiseReward(judge, anchor="anchor")       # against the dataset column `anchor`, such as SFT's answers
    reward = PairwiseReward(judge, mode="batch")          # the group in one question, twice
    reward = PairwiseReward(judge, mode="score")          # each completion by itself, from 1 to 5
    verdict = reward.assess(samples)[0]
    verdict.score, verdict.parts["won"], verdict.parts["orders_disagree"], verdict.parts["first_slot"]

Every pair is asked in both orders, as one token among A, B and C (tie), and a group is ranked from both its ends.
Orders that disagree are a tie, so that a judge that always prefers a slot gives everybody one half. Completions are
compared with those of the same request and picture only. A vote that failed is left out; a completion without a
readable pair has no score.
"""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import Literal

from rewards.cost import Cost, tokens_in
from rewards.judges.judge import RATING_SCALE, Failure, Judge, Rating
from rewards.judges.shared.cached_judge import question_keys, rate_once
from rewards.pairwise.analysis import ANALYSIS_TOKENS, after_analysis
from rewards.pairwise.charge import charge, judged
from rewards.pairwise.contest import Contest, chances, cut_of, parts_of, votes_in_words
from rewards.pairwise.questions import Evidence, Shown, ask, ask_score, load_prompts
from rewards.pairwise.ranking import RANKING_TOKENS, ask_ranking, rank, votes_of
from rewards.pairwise.rows import sort_rows
from rewards.pairwise.schedule import swiss_round, swiss_rounds
from rewards.pairwise.votes import cast
from rewards.reward import Reward
from rewards.verdict import Sample, Status, Verdict

GROUP = 8  # completions of a prompt, which `cost` assumes


class PairwiseReward(Reward):
    """Pair comparison, batch ranking and scoring (MLLM-as-a-Judge, section 2), with any judge.

    The score is in [0, 1]. Against an anchor or references: the mean of 1 for won, one half for a tie, 0 for lost.
    Inside the group: the chance to beat an average completion of the group by Bradley-Terry over its pairs, which says
    who is better within a prompt and nothing across prompts. All of a group must come in one call. In mode "score" the
    mean of the rating's distribution from 1 to 5, from 0 to 1, which a prompt's group has no part in.

    Args:
        judge: who compares; one that sees, where rows bring pictures.
        mode: "pair", one token with its distribution for every pair and order; "batch", a written ranking of the whole
            group, from both its ends; "score", one token with its distribution for every completion.
        anchor: whom a completion meets: None the others of its group, "anchor" that dataset column, "reference" each of
            the references. Only pairs have one.
        schedule: who meets whom inside the group in mode "pair": "round-robin" everybody everybody else, "swiss"
            neighbours in the standings, in as many rounds as it takes to single out one.
        smooth: the mean probability in place of the votes on pairs, in both orders.
        analyse: whether the judge writes an analysis before it decides (section 3.1).
        evidence: "picture", or where a row has none its `context`; "context" never shows a picture.
        prompts: a file like prompts.yaml in place of ours.
        name: of the reward in logs.
    """

    def __init__(
        self,
        judge: Judge,
        mode: Literal["pair", "batch", "score"] = "pair",
        anchor: Literal["anchor", "reference"] | None = None,
        schedule: Literal["round-robin", "swiss"] = "round-robin",
        smooth: bool = False,
        analyse: bool = False,
        evidence: Evidence = "picture",
        prompts: str | Path | None = None,
        name: str = "pairwise",
    ) -> None:
        super().__init__(name)
        if mode not in ("pair", "batch", "score"):
            raise ValueError(f'mode is "pair", "batch" or "score", got {mode!r}')
        if anchor not in (None, "anchor", "reference"):
            raise ValueError(f'anchor is "anchor", "reference" or None, got {anchor!r}')
        if schedule not in ("round-robin", "swiss"):
            raise ValueError(f'schedule is "round-robin" or "swiss", got {schedule!r}')
        if evidence not in ("picture", "context"):
            raise ValueError(f'evidence is "picture" or "context", got {evidence!r}')
        for option, value, default in (("anchor", anchor, None), ("schedule", schedule, "round-robin")):
            if mode != "pair" and value != default:
                raise ValueError(f'{option} is for mode "pair", and mode is {mode!r}: leave out {option}={value!r}')
        if mode != "pair" and smooth:
            raise ValueError(f'smooth is for mode "pair", and mode is {mode!r}: leave out smooth=True')
        self.judge = judge
        self.judges = (judge,)
        self.mode = mode
        self.anchor = anchor
        self.schedule = schedule
        self.smooth = smooth
        self.analyse = analyse
        self.evidence: Evidence = evidence
        self.prompts = load_prompts(prompts)
        self.wording = sha256(repr(self.prompts).encode()).hexdigest()[:16]
        self.columns = (anchor,) if anchor else ()
        self.one_of = ("context",) if evidence == "context" else ("image", "images", "context")
        self.main_parts = ("rating",) if mode == "score" else ("won", "tied", "orders_disagree", "first_slot")

    def cost(self, words: float, references: int) -> Cost:
        """Two orders against each opponent; inside a group of GROUP both completions share them, and a ranking is
        shared by all. An analysis is a question more for each.
        """
        text = " ".join(["word"] * round(words))
        pair = tokens_in(ask(self.prompts, Shown(""), text, text).messages[0]["content"])
        if self.mode == "score":
            read = tokens_in(ask_score(self.prompts, Shown(""), text).messages[0]["content"])
            count, written, exact, how = 1.0, 1.0, True, "one rating"
        elif self.mode == "batch":
            read = tokens_in(ask_ranking(self.prompts, Shown(""), [text] * GROUP).messages[0]["content"])
            count, exact = 2 / GROUP, False
            written, how = count * RANKING_TOKENS, f"2 rankings of a group of {GROUP} (assumed), from both its ends"
        elif self.anchor is None:
            each = GROUP - 1 if self.schedule == "round-robin" else swiss_rounds(GROUP)
            read, count, written, exact = pair, float(each), float(each), False
            how = f"{self.schedule}, both orders: {GROUP * each} questions a group of {GROUP} (assumed)"
        else:
            count = 2.0 * (references if self.anchor == "reference" else 1)
            read, written, exact, how = pair, count, True, f"both orders against the {self.anchor}"
        if not self.analyse:
            return Cost(count, read * count, written, exact, how)
        twice = read * 2 + ANALYSIS_TOKENS
        return Cost(2 * count, twice * count, written + ANALYSIS_TOKENS * count, exact, f"{how}, each analysed first")

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        """One Verdict per sample, in order; all questions of a round in one call, equal ones once."""
        shown, verdicts = sort_rows(samples, self.evidence, self._lacks)
        texts = {number: judged(samples[number]) for number in shown}
        asked = [number for number in shown if number not in verdicts]
        if self.mode == "score":
            verdicts |= self._scored({number: samples[number] for number in asked}, shown)
            return [verdicts[number] for number in range(len(samples))]
        if self.anchor:
            against = [contest for number in asked for contest in self._against(samples[number], number)]
            contests = self._decide(against, shown)
        else:
            contests = self._within(texts, set(asked), shown)
        strengths = {} if self.anchor else chances(contests, self.smooth)
        for number in asked:
            own = [contest for contest in contests if number in (contest.sample, contest.other)]
            cut = max((cut_of(contest, texts[number]) for contest in own), default=0)
            verdicts[number] = charge(self._verdict(number, own, strengths), samples[number], cut)
        return [verdicts[number] for number in range(len(samples))]

    def _lacks(self, sample: Sample) -> str:
        """What the row lacks of its opponents, in one sentence, "" where it has them."""
        if self.anchor == "anchor" and not (sample.anchor or "").strip():
            return "this row has no anchor, a text to compare the completion with"
        if self.anchor == "reference" and not sample.references:
            return "this row has no reference to compare the completion with"
        return ""

    def _scored(self, samples: dict[int, Sample], shown: dict[int, Shown]) -> dict[int, Verdict]:
        """Mode "score": a rating each."""
        questions = [ask_score(self.prompts, shown[number], judged(sample)) for number, sample in samples.items()]
        asked = after_analysis(self.judge, questions, self.prompts.rating, self.prompts) if self.analyse else questions
        ratings = rate_once(self.judge, asked)
        return {number: scored(rating, samples[number]) for number, rating in zip(samples, ratings, strict=True)}

    def _groups(self, shown: dict[int, Shown]) -> list[list[int]]:
        """The samples that were asked the same about the same picture."""
        keys = question_keys([ask(self.prompts, evidence, "", "") for evidence in shown.values()], {})
        groups: dict[str, list[int]] = {}
        for number, key in zip(shown, keys, strict=True):
            groups.setdefault(key, []).append(number)
        return list(groups.values())

    def _against(self, sample: Sample, number: int) -> list[Contest]:
        """The sample against its anchor, or each of its references."""
        others = sample.references if self.anchor == "reference" else (sample.anchor or "",)
        return [Contest(number, None, (judged(sample), other)) for other in others]

    def _within(self, texts: dict[int, str], asked: set[int], shown: dict[int, Shown]) -> list[Contest]:
        """All contests inside the groups, each round of all groups in one call. An empty text loses to every other one.

        asked: the samples whose texts are not empty.
        """
        groups = self._groups(shown)
        contests = [
            Contest(one, other, (texts[one], texts[other]), certain=(one in asked) - (other in asked))
            for group in groups
            for one, other in combinations(group, 2)
            if (one in asked) != (other in asked)
        ]
        players = [[number for number in group if number in asked] for group in groups]
        if self.mode == "batch":
            return contests + self._rank(players, texts, shown)
        rounds = (
            1 if self.schedule == "round-robin" else max((swiss_rounds(len(group)) for group in players), default=0)
        )
        for number in range(rounds):
            standings = {int(name): chance for name, chance in chances(contests, self.smooth).items()}
            met = {frozenset((contest.sample, contest.other or 0)) for contest in contests}
            pairs = [pair for group in players for pair in self._pairs(group, number, standings, met)]
            new = [Contest(one, other, (texts[one], texts[other])) for one, other in pairs]
            contests += self._decide(new, shown)
        return contests

    def _pairs(
        self, group: Sequence[int], number: int, standings: dict[int, float], met: set[frozenset[int]]
    ) -> list[tuple[int, int]]:
        """Who of the group meets whom in this round."""
        if self.schedule == "round-robin":
            return list(combinations(group, 2))
        return swiss_round(group, standings, met) if number < swiss_rounds(len(group)) else []

    def _decide(self, contests: Sequence[Contest], shown: dict[int, Shown]) -> list[Contest]:
        """The contests with their votes."""
        open_ = [contest for contest in contests if contest.open]
        questions = [
            ask(self.prompts, shown[contest.sample], *way)
            for contest in open_
            for way in (contest.texts, contest.texts[::-1])
        ]
        asked = after_analysis(self.judge, questions, self.prompts.answer, self.prompts) if self.analyse else questions
        votes = dict(zip(map(id, open_), cast(self.judge, asked), strict=True))
        return [replace(contest, votes=votes.get(id(contest))) for contest in contests]

    def _rank(self, players: Sequence[Sequence[int]], texts: dict[int, str], shown: dict[int, Shown]) -> list[Contest]:
        """Every pair of every group, decided by the two rankings of the group's different texts."""
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

    def _verdict(self, number: int, own: Sequence[Contest], strengths: dict[str, float]) -> Verdict:
        """own: the sample's contests, of which it may be either side."""
        if not own:
            note = "no other completion of this request is in the batch: compare with an anchor or a reference"
            return Verdict(None, Status.NOT_APPLICABLE, note=note)
        read = [contest for contest in own if contest.outcome is not None]
        if not read:
            failure = next(contest.votes.failure for contest in own if contest.votes and contest.votes.failure)
            return Verdict(None, failure.status, note=f"no pair could be judged: {failure.message}")
        outcomes = [(contest.outcome or 0) * (1 if contest.sample == number else -1) for contest in read]
        if not self.anchor:
            score = strengths[str(number)]
        elif self.smooth:
            score = sum(contest.share or 0.0 for contest in read) / len(read)
        else:
            score = sum(1 + outcome for outcome in outcomes) / 2 / len(read)
        return Verdict(score, parts=parts_of(outcomes, own), note=votes_in_words(number, own))


def scored(rating: Rating | Failure, sample: Sample) -> Verdict:
    """The rating from 1 to 5 as a verdict."""
    if isinstance(rating, Failure):
        return Verdict(None, rating.status, note=rating.message)
    score = min(max((rating.mean - 1) / (len(RATING_SCALE) - 1), 0.0), 1.0)
    return charge(Verdict(score, parts={"rating": rating.mean}), sample, rating.cut)
