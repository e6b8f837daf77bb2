"""Column maps of people's judgments, for tables: what a file keeps beside the texts.

    found = load_map("lave")                   # a packaged one: column_maps/lave.yaml
    found = load_map("mine.yaml")              # a copy of one, with the names of your file

`source` says where the names come from. Maps with `seen: false` were written from a paper or a
repository's page, without the data. Where such a name is wrong, the error names the line and its
columns; correct it in a copy of the map.
"""

from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from spanreward.rewards.base.checks import unknown_name_message
from spanreward.rewards.files.yaml_file import read_yaml_file

FOLDER = Path(__file__).with_name("column_maps")
UNSEEN = "format from the paper or repository, data not seen here"


class Columns(BaseModel):
    """The names of a file's columns.

    Attributes:
        group: judgments with the same value, a picture or a question, are drawn together by a
            bootstrap.
        id: of the row.
        completion: the only text.
        completions: several texts: their columns, or one column that lists them.
        references: texts or lists of texts, in one column or several.
        context: a text, or a list of them, that describes the picture.
        question, answers, task, bbox: as in Sample.
        mistakes: what is wrong in the completion: [start, end) in characters, or words of it.
        slice: what tables show apart, such as the task; several are joined.
        systems: what wrote the completions: their columns, or one column that lists them.
        image: the path of a picture.
        ratings: people's, by criterion: a column with a number or a list of numbers, or several
            columns.
        preferences: by criterion, how much better the first of two completions is; below 0 the
            second is better.
        best: the number of the best completion, from 0, or a list of such votes.
        omissions: what the completion leaves out of the first reference: [start, end) in
            characters, or words of it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    group: str
    id: str | None = None
    completion: str | None = None
    completions: str | tuple[str, ...] = ()
    references: str | tuple[str, ...] = ()
    context: str | None = None
    question: str | None = None
    answers: str | None = None
    task: str | None = None
    bbox: str | None = None
    mistakes: str | None = None
    slice: tuple[str, ...] = ()
    systems: str | tuple[str, ...] = ()
    image: str | None = None
    ratings: dict[str, str | tuple[str, ...]] = Field({})
    preferences: dict[str, str] = Field({})
    best: str | None = None
    omissions: str | None = None

    @model_validator(mode="after")
    def judged_texts(self) -> Self:
        """Raises ValueError unless there is either one text or several, mistakes, ratings and
        omissions are of one, and preferences and votes of several.
        """
        if bool(self.completion) == bool(self.completions):
            raise ValueError("give either completion or completions")
        if self.mistakes and not self.completion:
            raise ValueError("mistakes are of a completion")
        of_one, of_several = self.ratings or self.omissions, self.preferences or self.best
        if (of_one and not self.completion) or (of_several and not self.completions):
            raise ValueError(
                "ratings and omissions are of a completion, preferences and best of completions"
            )
        if self.omissions and not self.references:
            raise ValueError("omissions are of the first of the references")
        return self


class JudgedMap(BaseModel):
    """A file's layout.

    Attributes:
        name: of the data, for people.
        source: where the data and its column names come from.
        seen: whether the map was written with the data at hand.
        note: what a reader of a figure should know.
        each: the column whose entries are the rows; their keys override the line's.
        levels: the number that a preference's label stands for; without levels a preference is a
            number. A label that names one of the systems prefers its text.
        drop_systems: pairs with a text of one of these systems are left out.
        first_is_better: people prefer the first completion, because the data are made so.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    source: str
    seen: bool
    note: str = ""
    each: str | None = None
    columns: Columns
    levels: dict[str, float] = Field({})
    drop_systems: tuple[str, ...] = ()
    first_is_better: bool = False

    @property
    def status(self) -> str:
        """For tables: whether the column names were seen in the data."""
        return "format seen in the data" if self.seen else UNSEEN


def load_map(name: str) -> JudgedMap:
    """Returns a packaged map by its name, or that of a YAML file.

    Raises ValueError for no file and for no map.
    """
    path = Path(name) if Path(name).suffix in (".yaml", ".yml") else FOLDER / f"{name}.yaml"
    if not path.is_file():
        raise ValueError(
            unknown_name_message(
                "column map", name, [known.stem for known in FOLDER.glob("*.yaml")]
            )
        )
    try:
        return JudgedMap.model_validate(read_yaml_file(path))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise ValueError(f"{path} is no column map: {where}: {first['msg']}.") from None
