"""MLLM-as-a-Judge's pair comparison as a reward: is a completion better than an anchor, the reference, or its siblings?

    reward = PairwiseReward(judge)                        # inside the GRPO group: needs image, images or context
    reward = PairwiseReward(judge, anchor="anchor")       # against the dataset column `anchor`, such as SFT's answers
    verdict = reward.assess(samples)[0]
    verdict.score, verdict.parts["won"], verdict.parts["orders_disagree"], verdict.parts["first_slot"]

Every pair is asked in both orders, as one token among A, B and C (tie). Orders that disagree are a tie, so that a judge
that always prefers a slot gives everybody one half. Completions are compared with those of the same request and picture
only. A vote that failed is left out; a completion without a readable pair has no score.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import Literal

from rewards.comparison.orders import first_slot_share
from rewards.comparison.ratings import Pair, bradley_terry
from rewards.cost import Cost, tokens_in
from rewards.judges.judge import Judge, Rating
from rewards.judges.shared.cached_judge import question_keys
from rewards.pairwise.charge import charge, judged
from rewards.pairwise.questions import Evidence, Shown, ask, load_prompts
from rewards.pairwise.rows import sort_rows
from rewards.pairwise.schedule import swiss_round, swiss_rounds
from rewards.pairwise.votes import PairVotes, Vote, cast
from rewards.reward import Reward
from rewards.verdict import Sample, Status, Verdict

GROUP = 8  # completions of a prompt, which `cost` assumes


@dataclass(frozen=True, slots=True)
class Contest:
    """A sample's text against another's (`other`, by number) or one that comes with the row (None), and the votes."""

    sample: int
    other: int | None
    texts: tuple[str, str]
    votes: PairVotes | None = None  # None: it was decided without a judge, `certain`
    certain: int = 0

    @property
    def outcome(self) -> int | None:
        """1, 0 or -1 for the sample; None where a vote failed."""
        return self.votes.outcome if self.votes else self.certain

    @property
    def share(self) -> float | None:
        """The sample's share of both orders' distributions, in [0, 1]; None where a vote failed."""
        return self.votes.share if self.votes else (1 + self.certain) / 2


class PairwiseReward(Reward):
    """Pair comparison (MLLM-as-a-Judge, section 2), in both orders, with any judge.

    The score is in [0, 1]. Against an anchor or references: the mean of 1 for won, one half for a tie, 0 for lost.
    Inside the group: the chance to beat an average completion of the group by Bradley-Terry over its pairs, which says
    who is better within a prompt and nothing across prompts. All of a group must come in one call.

    Args:
        judge: who compares; one that sees, where rows bring pictures.
        mode: "pair", one token with its distribution.
        anchor: whom a completion meets: None the others of its group, "anchor" that dataset column, "reference" each of
            the references.
        schedule: who meets whom inside the group: "round-robin" everybody everybody else, "swiss" neighbours in the
            standings, in as many rounds as it takes to single out one.
        smooth: the mean probability in place of the votes, in both orders.
        evidence: "picture", or where a row has none its `context`; "context" never shows a picture.
        prompts: a file like prompts.yaml in place of ours.
        name: of the reward in logs.
    """

    main_parts = ("won", "tied", "orders_disagree", "first_slot")

    def __init__(
        self,
        judge: Judge,
        mode: Literal["pair"] = "pair",
        anchor: Literal["anchor", "reference"] | None = None,
        schedule: Literal["round-robin", "swiss"] = "round-robin",
        smooth: bool = False,
        evidence: Evidence = "picture",
        prompts: str | Path | None = None,
        name: str = "pairwise",
    ) -> None:
        super().__init__(name)
        if mode != "pair":
            raise ValueError(f'mode is "pair", got {mode!r}')
        if anchor not in (None, "anchor", "reference"):
            raise ValueError(f'anchor is "anchor", "reference" or None, got {anchor!r}')
        if schedule not in ("round-robin", "swiss"):
            raise ValueError(f'schedule is "round-robin" or "swiss", got {schedule!r}')
        if evidence not in ("picture", "context"):
            raise ValueError(f'evidence is "picture" or "context", got {evidence!r}')
        self.judge = judge
        self.judges = (judge,)
        self.anchor = anchor
        self.schedule = schedule
        self.smooth = smooth
        self.evidence: Evidence = evidence
        self.prompts = load_prompts(prompts)
        self.wording = sha256(repr(self.prompts).encode()).hexdigest()[:16]
        self.columns = (anchor,) if anchor else ()
        self.one_of = ("context",) if evidence == "context" else ("image", "images", "context")

    def cost(self, words: float, references: int) -> Cost:
        """Two orders against each opponent; inside a group of GROUP both completions share them."""
        text = " ".join(["word"] * round(words))
        read = tokens_in(ask(self.prompts, Shown(""), text, text).messages[0]["content"])
        if self.anchor is None:
            each = GROUP - 1 if self.schedule == "round-robin" else swiss_rounds(GROUP)
            how = f"{self.schedule}, both orders: {GROUP * each} questions a group of {GROUP} (assumed)"
            return Cost(each, read * each, each, exact=False, how=how)
        count = 2 * (references if self.anchor == "reference" else 1)
        return Cost(count, read * count, count, exact=True, how=f"both orders against the {self.anchor}")

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        """One Verdict per sample, in order; all questions in one call, equal ones once."""
        shown, verdicts = sort_rows(samples, self.evidence, self._lacks)
        texts = {number: judged(samples[number]) for number in shown}
        asked = [number for number in shown if number not in verdicts]
        if self.anchor:
            contests = self._decide(
                [contest for number in asked for contest in self._against(samples[number], number)], shown
            )
        else:
            contests = self._within(texts, set(asked), shown)
        chances = {} if self.anchor else self._chances(contests)
        for number, sample in enumerate(samples):
            if number not in verdicts:
                own = [contest for contest in contests if number in (contest.sample, contest.other)]
                cut = max((cut_of(contest, judged(sample)) for contest in own), default=0)
                verdicts[number] = charge(self._verdict(number, own, chances), sample, cut)
        return [verdicts[number] for number in range(len(samples))]

    def _lacks(self, sample: Sample) -> str:
        """What the row lacks of its opponents, in one sentence, "" where it has them."""
        if self.anchor == "anchor" and not (sample.anchor or "").strip():
            return "this row has no anchor, a text to compare the completion with"
        if self.anchor == "reference" and not sample.references:
            return "this row has no reference to compare the completion with"
        return ""

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
        rounds = (
            1 if self.schedule == "round-robin" else max((swiss_rounds(len(group)) for group in players), default=0)
        )
        for number in range(rounds):
            standings = {int(name): chance for name, chance in self._chances(contests).items()}
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
        """The contests with their votes. Equal texts are a tie, unasked, and so is what is decided already."""
        open_ = [contest for contest in contests if not contest.certain and contest.texts[0] != contest.texts[1]]
        questions = []
        for contest in open_:
            one, other = contest.texts
            evidence = shown[contest.sample]
            questions.append((ask(self.prompts, evidence, one, other), ask(self.prompts, evidence, other, one)))
        votes = dict(zip(map(id, open_), cast(self.judge, questions), strict=True))
        return [replace(contest, votes=votes.get(id(contest))) for contest in contests]

    def _chances(self, contests: Sequence[Contest]) -> dict[str, float]:
        """Bradley-Terry over the readable contests; groups never meet, so each is rated by itself."""
        pairs = []
        for contest in contests:
            names = (str(contest.sample), str(contest.other))
            if contest.outcome is None or contest.share is None:
                continue
            if self.smooth:
                weights = ((1, contest.share), (-1, 1 - contest.share))
                pairs += [Pair(*names, outcome, weight) for outcome, weight in weights if weight > 0]
            else:
                pairs.append(Pair(*names, contest.outcome))
        return bradley_terry(pairs)

    def _verdict(self, number: int, own: Sequence[Contest], chances: dict[str, float]) -> Verdict:
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
            score = chances[str(number)]
        elif self.smooth:
            score = sum(contest.share or 0.0 for contest in read) / len(read)
        else:
            score = sum(1 + outcome for outcome in outcomes) / 2 / len(read)
        return Verdict(score, parts=parts_of(outcomes, own))


def parts_of(outcomes: Sequence[int], own: Sequence[Contest]) -> dict[str, float]:
    """Shares of a sample's readable pairs, and what its votes say of the judge."""
    votes = [contest.votes for contest in own if contest.votes]
    parts = {name: outcomes.count(outcome) / len(outcomes) for name, outcome in (("won", 1), ("tied", 0), ("lost", -1))}
    parts["failed_pairs"] = 1 - len(outcomes) / len(own)
    parts["orders_disagree"] = sum(pair.disagree for pair in votes) / len(votes) if votes else 0.0
    first = first_slot_share([slot for pair in votes for slot in pair.slots])
    return parts if first is None else {**parts, "first_slot": first}


def cut_of(contest: Contest, text: str) -> int:
    """How many characters at the text's end did not fit: only the longer text of a pair is ever cut."""
    if contest.votes is None or len(text) < max(map(len, contest.texts)):
        return 0
    votes: tuple[Vote, Vote] = (contest.votes.one, contest.votes.two)
    return max((vote.answer.cut for vote in votes if isinstance(vote.answer, Rating)), default=0)
