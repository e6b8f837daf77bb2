"""Column maps of people's judgments, for tables: what a file keeps beside the texts.

    found = load_map("lave")                   # a packaged one: column_maps/lave.yaml
    found = load_map("mine.yaml")              # a copy of one, with the names of your file

`source` says where the names come from. Maps with `seen: false` were written from a paper or a repository's page,
without the data. Where such a name is wrong, the error names the line and its columns; correct it in a copy of the map.
"""

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from spanreward.rewards.labels.column_map import ColumnMap, Columns

FOLDER = Path(__file__).with_name("column_maps")
UNSEEN = "format from the paper or repository, data not seen here"


class JudgedColumns(Columns):
    """The names of a file's columns: those of texts, and these.

    Attributes:
        group: judgments with the same value, a picture or a question, are drawn together by a bootstrap.
        slice: what tables show apart, such as the task; several are joined.
        systems: what wrote the completions: their columns, or one column that lists them.
        image: the path of a picture.
        ratings: people's, by criterion: a column with a number or a list of numbers, or several columns.
        preferences: by criterion, how much better the first of two completions is; below 0 the second is better.
        best: the number of the best completion, from 0, or a list of such votes.
        omissions: what the completion leaves out of the first reference: [start, end) in characters, or words of it.
    """

    slice: tuple[str, ...] = ()
    systems: str | tuple[str, ...] = ()
    image: str | None = None
    ratings: dict[str, str | tuple[str, ...]] = Field({})
    preferences: dict[str, str] = Field({})
    best: str | None = None
    omissions: str | None = None

    @model_validator(mode="after")
    def judged_texts(self) -> Self:
        """Raises ValueError unless ratings and omissions are of one completion, preferences and votes of several."""
        of_one, of_several = self.ratings or self.omissions, self.preferences or self.best
        if (of_one and not self.completion) or (of_several and not self.completions):
            raise ValueError("ratings and omissions are of a completion, preferences and best of completions")
        if self.omissions and not self.references:
            raise ValueError("omissions are of the first of the references")
        return self


class JudgedMap(ColumnMap):
    """A file's layout.

    Attributes:
        levels: the number that a preference's label stands for; without levels a preference is a number. A label that
            names one of the systems prefers its text.
        drop_systems: pairs with a text of one of these systems are left out.
        first_is_better: people prefer the first completion, because the data are made so.
    """

    columns: JudgedColumns
    levels: dict[str, float] = Field({})
    drop_systems: tuple[str, ...] = ()
    first_is_better: bool = False

    @property
    def status(self) -> str:
        """For tables: whether the column names were seen in the data."""
        return "format seen in the data" if self.seen else UNSEEN


def load_map(name: str) -> JudgedMap:
    """Returns a packaged map by its name, or that of a YAML file. Raises ValueError for no file and for no map."""
    return JudgedMap.load(name, FOLDER)
