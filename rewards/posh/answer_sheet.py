"""The answers to PoSh's questions about one direction (precision or recall) of one pair of texts.

sheet = AnswerSheet(interview)
ask_all_passes([sheet], judge)      # asks the questions and fills in the sheet
sheet.entities[4].rating, sheet.details["attribute", 4, 0].rating
"""

from dataclasses import dataclass, field

from spanreward.rewards.judges.judge import Failure
from spanreward.rewards.posh.candidates import EntityAnswer
from spanreward.rewards.posh.interview import Interview


@dataclass(frozen=True, slots=True)
class ComponentRating:
    """The rating (1 to 5) of an attribute, a relation or a denied thing, with the question."""

    rating: float
    question: str


@dataclass(slots=True)
class AnswerSheet:
    """The judge's answers in one interview.

    Attributes:
        interview: the two texts and the names of the things in them.
        entities: the answer on each entity, by the entity's number in the source's view.
        details: the answers on attributes, relations and denied things. The keys are ("attribute",
            entity, place), ("relation", number) and ("denied", number). An attribute or relation of
            an absent entity has no answer. A denied thing has no answer if the target denies the
            same thing.
        failure: the judge's first failure. After a failure, answers are missing.
        cut: how many characters of the longer text in the prompt the judge did not read, at most
            over all questions. `Interview.cuts_source` says which text is longer.
    """

    interview: Interview
    entities: dict[int, EntityAnswer] = field(default_factory=dict)
    details: dict[tuple[str | int, ...], ComponentRating] = field(default_factory=dict)
    failure: Failure | None = None
    cut: int = 0

    def cut_of(self, source: bool) -> int:
        """Returns how many characters of one text the judge did not read.

        source: True for the source, False for the target.
        """
        # a prompt that is too long loses only the end of the longer text
        source_is_longer = self.interview.cuts_source
        is_longer = source_is_longer if source else not source_is_longer
        return self.cut if is_longer else 0
