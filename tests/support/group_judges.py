"""Stand-in judges that know what every text is worth: they rate, rank and write analyses."""

from collections.abc import Callable, Sequence

from experiments.from_scores import in_words, level, order, prefer
from spanreward.rewards.base.verdict import Status
from spanreward.rewards.judges.judge import Failure, Judge, Question, Rating
from spanreward.rewards.judges.probe import PairProbe, QualityProbe, RankingProbe

ANALYSIS = "The first one leaves something out. </s> {answer}"


class GroupJudge(Judge):
    """worth: of a text, in [0, 1]. ranks: what is written for texts in this order, by default their
    true ranking. fails: which questions get no answer.

    Attributes:
        rated, written: every question put to it, by call.
    """

    name = "group judge"

    def __init__(
        self,
        worth: Callable[[str], float],
        ranks: Callable[[Sequence[str]], str] | None = None,
        fails: Callable[[Question], bool] = lambda question: False,
    ) -> None:
        self.worth, self.fails = worth, fails
        self.ranks = ranks or (lambda texts: in_words(order([worth(text) for text in texts])))
        self.rated: list[list[Question]] = []
        self.written: list[list[Question]] = []

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        self.rated.append(list(questions))
        return [self._rate(question, scale) for question in questions]

    def _rate(self, question: Question, scale: Sequence[str]) -> Rating | Failure:
        probe = question.probe
        if self.fails(question):
            return Failure(Status.TIMEOUT, "too late")
        if isinstance(probe, PairProbe):
            return prefer(self.worth(probe.first), self.worth(probe.second), scale)
        assert isinstance(probe, QualityProbe)
        value = level(self.worth(probe.text))
        return Rating({entry: max(0.0, 1 - abs(float(entry) - value)) for entry in scale})

    def write_each(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        self.written.append(list(questions))
        return [self._write(question) for question in questions]

    def _write(self, question: Question) -> str | Failure:
        if self.fails(question):
            return Failure(Status.TIMEOUT, "too late")
        probe = question.probe
        return self.ranks(probe.texts) if isinstance(probe, RankingProbe) else ANALYSIS
