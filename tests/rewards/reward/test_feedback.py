"""A verdict in words: what is wrong, why and what is left out, on one line."""

from spanreward import MatchJudge, PoshReward, Sample, Span, Status, Verdict
from spanreward.rewards.reward.reward import MOST_QUOTATIONS, feedback
from spanreward.training.grpo.recorder import Recorder


def span(start: int, end: int, score: float, note: str = "", asked: bool = True) -> Span:
    return Span(start, end, score, 0.1, "entity", note, start, asked)


SAMPLE = Sample("", "A red\nkite and a dog.", references=("A kite.", "A kite and a tall lamp."))


def test_it_names_words_reasons_and_what_is_left_out() -> None:
    unasked = span(2, 10, 0.0, asked=False)
    spans = (span(17, 20, 0.2), span(2, 5, 0.0, "it is blue"), span(6, 10, 1.0), unasked)
    verdict = Verdict(0.4, spans=spans, missed=(span(13, 22, 0.2), span(2, 6, 0.6)), reference=1)
    assert feedback(SAMPLE, verdict) == 'Wrong: "red" (it is blue), "dog". Left out: "tall lamp".'
    assert feedback(SAMPLE, Verdict(0.4, spans=(span(0, 10, 0.0),))) == 'Wrong: "A red kite".'


def test_it_says_nothing_where_there_is_nothing_to_say_and_is_bounded() -> None:
    for verdict in (Verdict(1.0), Verdict(None, Status.TIMEOUT), Verdict(0.0, Status.EMPTY)):
        assert feedback(SAMPLE, verdict) == ""
    spans = tuple(span(n, n + 1, 0.0) for n in range(999))
    told = feedback(Sample("", "x" * 1000), Verdict(0.1, spans=spans))
    assert told.count('"x"') == MOST_QUOTATIONS


def test_trl_gets_it_for_its_table_of_completions() -> None:
    logged: dict[str, list[str]] = {}
    columns = {"reference": ["A red circle."] * 2, "log_extra": logged.__setitem__}
    for reward in (PoshReward(MatchJudge()), Recorder(PoshReward(MatchJudge()))):
        logged.clear()
        reward([""] * 2, ["A blue circle.", "A red circle."], **columns)
        ((name, (wrong, right)),) = logged.items()
        assert (name, right) == ("posh/spans", "")
        assert wrong.startswith('Wrong: "blue" (')
        assert 'Left out: "red"' in wrong
