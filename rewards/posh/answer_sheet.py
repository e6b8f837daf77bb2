"""The answers to PoSh's questions about one direction of one pair of texts.

sheet = AnswerSheet(interview)
conduct([sheet], judge)      # fills it in
sheet.entities[4].rating, sheet.details["attribute", 4, 0].rating
"""

from dataclasses import dataclass, field

from spanreward.rewards.judges.judge import Failure
from spanreward.rewards.posh.candidates import EntityAnswer
from spanreward.rewards.posh.interview import Interview


@dataclass(frozen=True, slots=True)
class ComponentRating:
    """The rating (1..5) of an attribute, relation or denied thing, and its question."""

    rating: float
    question: str


@dataclass(slots=True)
class AnswerSheet:
    """What the judge answered in one interview.

    entities: the answers by number in the source's view. details: those on ("attribute", entity,
    place), ("relation", number) and ("denied", number), whether the target has it all the same.
    What has an absent entity is not asked about, nor what the target denies too. failure: the
    judge's first failure, after which answers are missing. cut: the most characters that the judge
    did not read of the longer text in the prompt, see `Interview.cuts_source`.
    """

    interview: Interview
    entities: dict[int, EntityAnswer] = field(default_factory=dict)
    details: dict[tuple[str | int, ...], ComponentRating] = field(default_factory=dict)
    failure: Failure | None = None
    cut: int = 0

    def cut_of(self, source: bool) -> int:
        """How many characters of the source, or else of the target, the judge did not read."""
        # only the longer of the two is ever cut
        if self.interview.cuts_source is not source:
            return 0
        return self.cut
