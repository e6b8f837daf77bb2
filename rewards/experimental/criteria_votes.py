"""The pairwise form of `criteria`: votes by all criteria of the row against its anchor (MLLM-Bench,
section 5.1).

A text wins, ties or loses in both orders: 1 for a win, 0.5 for a tie or if the judge cannot decide,
0 for a loss. CriteriaReward has form="pairwise" and calls this module.
"""

from collections.abc import Sequence

from spanreward.rewards.base.cost import Cost, tokens_in
from spanreward.rewards.base.verdict import Verdict
from spanreward.rewards.criteria.reward import read_criteria
from spanreward.rewards.judges.judge import Judge, Question
from spanreward.rewards.pairwise.questions import Shown, Texts, ask_pair
from spanreward.rewards.pairwise.votes import PairVotes, cast
from spanreward.rewards.reward.row_reward import JudgedRow, Raw
from spanreward.rewards.reward.rows import judged
from spanreward.rewards.text.quoting import fill_masked, marks_in

SCALE = ("A", "B", "C", "D")
OUTCOMES = {"won": 1, "undecided": 0, "lost": -1}  # by the part of the verdict that counts it


def cost_of_vote(prompts: Texts, pair: Texts, text: str, criteria: tuple[str, ...]) -> Cost:
    """Returns the cost of one completion: two questions, which differ in the order of the texts."""
    question = ask_vote(prompts, pair, Shown(""), text, text, criteria)
    read = 2 * tokens_in(question.messages[0]["content"])
    return Cost(2, read, 2, exact=True, how="both orders against the anchor")


def vote(
    judge: Judge,
    prompts: Texts,
    pair: Texts,
    rows: Sequence[JudgedRow],
    evidence: dict[int, Shown],
) -> list[Raw]:
    """Returns the raw verdict of each row.

    A completion equal to its anchor ties without a question. evidence: by the row's number, what
    the judge sees beside the texts.
    """
    questions: list[Question] = []
    are_tied: list[bool] = []  # per row
    for number, sample, _ in rows:
        text = judged(sample)
        anchor = sample.anchor or ""
        are_tied.append(text == anchor)
        if text == anchor:
            continue
        criteria = read_criteria(sample.criteria)
        for first, second in ((text, anchor), (anchor, text)):
            questions.append(ask_vote(prompts, pair, evidence[number], first, second, criteria))
    votes = iter(cast(judge, questions, SCALE))
    verdicts: list[Raw] = []
    for is_tied in are_tied:
        if is_tied:
            verdict = Verdict(0.5, parts=_outcome_parts(0))
        else:
            verdict = _verdict_of_votes(next(votes))
        verdicts.append((verdict, 0))
    return verdicts


def ask_vote(
    prompts: Texts,
    pair: Texts,
    evidence: Shown,
    first: str,
    second: str,
    criteria: tuple[str, ...],
) -> Question:
    """Returns the question which of two texts is better by all criteria, to be answered with A, B,
    C or D.
    """
    numbered = [f"{number}. {text}" for number, text in enumerate(criteria, start=1)]
    # the pairwise prompt, with its own answer's place taken
    pieces = {**pair, "vote": prompts["vote"], "answer": prompts["answer"]}
    marks = marks_in(*pieces.values())
    instruction = fill_masked(prompts["vote"], marks, criteria="\n".join(numbered))
    return ask_pair(pieces, evidence, first, second, criteria, ending=instruction)


def _verdict_of_votes(votes: PairVotes) -> Verdict:
    """Returns the verdict of the votes against the anchor."""
    if votes.failure:
        return Verdict(None, votes.failure.status, note=votes.failure.message)
    outcome = _first_that_decides(votes)
    parts = _outcome_parts(outcome)
    parts["situation_one"] = votes.letters.count("C") / 2
    parts["situation_two"] = votes.letters.count("D") / 2
    parts["orders_disagree"] = float(votes.disagree)
    letters = "/".join(letter or "-" for letter in votes.letters)
    note = f"votes, shown first / second: {letters}"
    score = (1 + outcome) / 2  # 1 for a win, 0.5 for a tie, 0 for a loss
    return Verdict(score, parts=parts, note=note)


def _outcome_parts(outcome: int) -> dict[str, float]:
    """Returns 1 for the outcome's own part, and 0 for the other two."""
    return {name: float(outcome == value) for name, value in OUTCOMES.items()}


def _first_that_decides(votes: PairVotes) -> int:
    """Returns 1, 0 or -1 by MLLM-Bench's rule (experiments/agreement/mllm_bench.py infers it from
    the votes).

    Two orders that decide differently are a tie. If only one order decides, it counts.
    """
    # C and D are 0, and decide nothing
    choices = {choice for choice in votes.choices if choice}
    if len(choices) != 1:
        return 0
    return choices.pop()
