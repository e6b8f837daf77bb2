"""Column maps: small YAML files that say where a JSON or JSONL file keeps people's captions, or their labels of a text.

columns = ColumnMap.load("labelled_spans")       # a packaged one: column_maps/labelled_spans.yaml
columns = ColumnMap.load("mine.yaml")            # one of your own file
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from spanreward.rewards.base.checks import check_known, unknown
from spanreward.rewards.files.yaml_file import read_yaml_file

FOLDER = Path(__file__).with_name("column_maps")


class Columns(BaseModel):
    """The names of a file's columns.

    Attributes:
        group: rows with the same value are of one picture or question.
        id: of the row.
        completion: the only text.
        completions: several texts: their columns, or one column that lists them.
        references: texts or lists of texts, in one column or several.
        context: a text, or a list of them, that describes the picture.
        question, answers, task, bbox: as in Sample.
        mistakes: what is wrong in the completion: [start, end) in characters, or words of it.
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

    @model_validator(mode="after")
    def one_or_several_texts(self) -> Self:
        """Raises ValueError unless there is either one text or several, and mistakes only in one."""
        if bool(self.completion) == bool(self.completions):
            raise ValueError("give either completion or completions")
        if self.mistakes and not self.completion:
            raise ValueError("mistakes are of a completion")
        return self


class ColumnMap(BaseModel):
    """A file's layout.

    Attributes:
        name: of the data, for people.
        source: where the data and its column names come from.
        seen: whether the map was written with the data at hand.
        note: what a reader of a figure should know.
        each: the column whose entries are the rows; their keys override the line's.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    source: str
    seen: bool
    note: str = ""
    each: str | None = None
    columns: Columns

    @classmethod
    def load(cls, name: str, packaged: Path = FOLDER) -> Self:
        """Returns the map in the YAML file `name`, or in the folder of packaged ones. Raises ValueError for no file and
        for no map.
        """
        path = Path(name) if Path(name).suffix in (".yaml", ".yml") else packaged / f"{name}.yaml"
        if not path.is_file():
            raise ValueError(unknown("column map", name, [known.stem for known in packaged.glob("*.yaml")]))
        try:
            return cls.model_validate(read_yaml_file(path))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the file"
            raise ValueError(f"{path} is no column map: {where}: {first['msg']}.") from None

    def renamed(self, names: Mapping[str, str]) -> Self:
        """Returns the map of a file that has these other names for its columns. Raises ValueError for unknown ones."""
        columns = {field: name for field, name in self.columns if isinstance(name, str)}
        check_known("column", names, columns.values())
        changed = {field: names.get(name, name) for field, name in columns.items()}
        return self.model_copy(update={"columns": self.columns.model_copy(update=changed)})
