"""The pairwise form of the metric `criteria`: the judge compares a text with the row's anchor by
all criteria of the row, and votes (MLLM-Bench, section 5.1).

The judge votes twice, with the texts in both orders. A win gives 1, a loss gives 0. A tie, and a
vote in which the judge cannot decide, gives 0.5. CriteriaReward calls this module for
form="pairwise".
"""

from collections.abc import Sequence

from spanreward.rewards.base.cost import Cost, tokens_in
from spanreward.rewards.base.verdict import Verdict
from spanreward.rewards.criteria.reward import read_criteria
from spanreward.rewards.judges.judge import Judge, Question
from spanreward.rewards.pairwise.questions import PromptPieces, Shown, ask_pair
from spanreward.rewards.pairwise.votes import PairVotes, cast_votes
from spanreward.rewards.reward.row_reward import JudgedRow, RawVerdict
from spanreward.rewards.reward.rows import judged_beginning
from spanreward.rewards.text.quoting import fill_masked, marks_in

VOTE_LETTERS = ("A", "B", "C", "D")
VALUES_OF_OUTCOMES = {"won": 1, "undecided": 0, "lost": -1}  # by the name of the verdict's part


def cost_of_vote(
    prompts: PromptPieces,
    pair: PromptPieces,
    text: str,
    criteria: tuple[str, ...],
) -> Cost:
    """Returns the cost of judging one completion: two questions, which differ in the order of the
    texts.

    prompts, pair: the prompts of `criteria` and of the pairwise metric. text: a text as long as a
    completion; it is used for both texts. criteria: the criteria of a row.
    """
    question = ask_vote(prompts, pair, Shown(""), text, text, criteria)
    read = 2 * tokens_in(question.messages[0]["content"])
    return Cost(2, read, 2, exact=True, how="both orders against the anchor")


def verdicts_by_vote(
    judge: Judge,
    prompts: PromptPieces,
    pair: PromptPieces,
    rows: Sequence[JudgedRow],
    evidence: dict[int, Shown],
) -> list[RawVerdict]:
    """Returns the raw verdict of each row, in order.

    A completion that equals its anchor is a tie, and the judge is not asked. prompts, pair: the
    prompts of `criteria` and of the pairwise metric. evidence: the request and the pictures or
    context that the judge sees, by the row's number.
    """
    # Two questions per row: the completion is shown first, and then the anchor.
    questions: list[Question] = []
    are_tied: list[bool] = []  # of each row, whether it is a tie without a question
    for number, sample, _ in rows:
        text = judged_beginning(sample)
        anchor = sample.anchor or ""
        are_tied.append(text == anchor)
        if text == anchor:
            continue
        criteria = read_criteria(sample.criteria)
        for first, second in ((text, anchor), (anchor, text)):
            questions.append(ask_vote(prompts, pair, evidence[number], first, second, criteria))
    # The judge votes, and each row gets its verdict.
    votes = iter(cast_votes(judge, questions, VOTE_LETTERS))
    verdicts: list[RawVerdict] = []
    for is_tied in are_tied:
        if is_tied:
            verdict = Verdict(0.5, parts=_outcome_parts(0))
        else:
            verdict = _verdict_of_votes(next(votes))
        verdicts.append((verdict, 0))
    return verdicts


def ask_vote(
    prompts: PromptPieces,
    pair: PromptPieces,
    evidence: Shown,
    first: str,
    second: str,
    criteria: tuple[str, ...],
) -> Question:
    """Returns the question which of two texts is better by all criteria. The answer is A, B, C or
    D.

    evidence: the request and the pictures or context that the judge sees. first, second: the texts,
    in the order in which they are shown.
    """
    numbered = [f"{number}. {text}" for number, text in enumerate(criteria, start=1)]
    # The prompts of the pairwise metric, with the instructions for a vote in place of its own.
    pieces = {**pair, "vote": prompts["vote"], "answer": prompts["answer"]}
    marks = marks_in(*pieces.values())
    instruction = fill_masked(prompts["vote"], marks, criteria="\n".join(numbered))
    return ask_pair(pieces, evidence, first, second, criteria, ending=instruction)


def _verdict_of_votes(votes: PairVotes) -> Verdict:
    """Returns the verdict of a completion's two votes."""
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
    """Returns the parts `won`, `undecided` and `lost`: 1.0 for the given outcome, and 0.0 for the
    other two.

    outcome: 1 (won), 0 (undecided) or -1 (lost).
    """
    return {name: float(outcome == value) for name, value in VALUES_OF_OUTCOMES.items()}


def _first_that_decides(votes: PairVotes) -> int:
    """Returns the outcome of two votes by MLLM-Bench's rule: 1 (won), 0 (undecided) or -1 (lost).

    If both votes decide differently, the outcome is 0. If only one vote decides, it is the outcome.
    The rule is inferred from MLLM-Bench's votes (experiments/agreement/mllm_bench.py).
    """
    # C and D are the choice 0, which decides nothing.
    choices = {choice for choice in votes.choices if choice}
    if len(choices) != 1:
        return 0
    return choices.pop()
