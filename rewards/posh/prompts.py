"""Loads PoSh's prompts: our own wording (prompts.yaml) or the two published JSON files, unchanged.

    load_prompts()                                    # rewards/posh/prompts.yaml
    load_prompts("posh/scorers/prompts")              # a folder with precision.json and recall.json
    load_prompts(("a/precision.json", "b/recall.json"))

A description or identifier that itself contains `{answer}` stays plain text.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import AliasPath, Field

from spanreward.rewards.files.json_lines import read_value
from spanreward.rewards.files.templates import read_as, takes
from spanreward.rewards.files.yaml_file import read_yaml_file
from spanreward.rewards.text.quoting import Mark, marks_in

PromptSource = str | Path | tuple[str | Path, str | Path]

DEFAULT = Path(__file__).with_name("prompts.yaml")  # our wording
DIRECTIONS = ("precision", "recall")  # the names of the published files


def _at(*keys: str) -> Any:
    """Returns the place of a template in the files."""
    return Field(validation_alias=AliasPath(*keys))


@dataclass(frozen=True, slots=True)
class DirectionPrompts:
    """The templates of one direction, for `fill`. A file may hold more.

    prefix: shows the text that is asked about. The published precision prefix also shows the text
    that the question comes from. described: an identifier with details, for a prefix that does not
    show the text it comes from. ask_denied: asks about a thing that the source says is not there.
    The published files have neither; such a thing is then asked about as others are.
    """

    prefix: Annotated[str, takes({"text"}, {"target_text", "source_text"})]
    # names: "corner"
    plain: Annotated[
        str,
        _at("entity_formatters", "no_parents"),
        takes({"entity_text"}),
    ]
    # "corner of the table"
    of_parent: Annotated[
        str,
        _at("entity_formatters", "has_parents"),
        takes({"entity_text", "parent_entity_identifier"}),
    ]
    # 'corner as in "circle sits in corner"'
    with_relation: Annotated[
        str,
        _at("entity_formatters", "relation"),
        takes({"formatted_entity", "relation"}),
    ]
    # questions: passes 1 and 2 ask about entities, pass 3 about the others (conduct.py)
    ask_entity: Annotated[
        str,
        _at("verifiers", "entity"),
        takes({"entity_identifier"}),
    ]
    ask_attribute: Annotated[
        str,
        _at("verifiers", "attribute"),
        takes({"entity_identifier", "attribute"}),
    ]
    ask_relation: Annotated[
        str,
        _at("verifiers", "relation"),
        takes({"entity1_identifier", "entity2_identifier", "relation"}),
    ]
    # in published mode the judge words names: "car parked" becomes "the parked car"
    rewrite_attribute: Annotated[
        str,
        _at("rewrite", "attribute"),
        takes({"entity_identifier"}),
    ]
    rewrite_relation: Annotated[
        str,
        _at("rewrite", "relation"),
        takes({"entity_identifier"}),
    ]
    instructions: Annotated[str, takes(set())]
    # "the circle (red, above square)"
    described: Annotated[
        str,
        _at("entity_formatters", "described"),
        takes({"entity_identifier", "attributes"}),
    ] = ""
    ask_denied: Annotated[
        str,
        _at("verifiers", "denied"),
        takes({"entity_identifier"}),
    ] = ""


@dataclass(frozen=True, slots=True)
class PicturePrompts(DirectionPrompts):
    """The templates that ask what a picture shows. The prompt shows no text of a row but names."""

    prefix: Annotated[str, takes(set())]


@dataclass(frozen=True, slots=True)
class PoshPrompts:
    """All directions.

    Precision looks up the completion's components in the reference, recall the reverse. picture:
    looks them up in the picture. The published files have none.
    """

    precision: DirectionPrompts
    recall: DirectionPrompts
    picture: PicturePrompts | None = None

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The lines that no text in a prompt may spell."""
        templates = []
        # what stands around the texts; the prompt of a picture shows none
        for direction in (self.precision, self.recall):
            templates += [direction.instructions, direction.prefix]
        return marks_in(*templates)

    def of_picture(self) -> PicturePrompts:
        """Returns the templates for pictures. Raises ValueError where the prompts have none."""
        if self.picture is None:
            raise ValueError(
                "these prompts have no part `picture`: copy that of rewards/posh/prompts.yaml, or "
                "take evidence='reference'."
            )
        return self.picture


def load_prompts(source: PromptSource | None = None) -> PoshPrompts:
    """Returns the prompts of a YAML file with both directions, a folder with the two JSON files, or
    a pair of files.

    Raises FileNotFoundError, or ValueError for a template that is missing or has the wrong
    placeholders.
    """
    # by the form of the source: two files, else a folder or one file of our own form
    if isinstance(source, tuple):
        return _published(map(Path, source))
    path = DEFAULT if source is None else Path(source)
    if not path.exists():
        raise FileNotFoundError(
            f"there are no prompts at {path}: prompts= is a YAML file, or the folder with the "
            "published precision.json and recall.json"
        )
    if path.is_dir():
        return _published(_only(path, f"*{direction}.json") for direction in DIRECTIONS)
    return read_as(PoshPrompts, read_yaml_file(path), path)


def _published(files: Iterable[Path]) -> PoshPrompts:
    """Returns the prompts of two published files, that of precision first."""
    precision, recall = map(_direction_of, files)
    return PoshPrompts(precision, recall)


def _direction_of(file: Path) -> DirectionPrompts:
    """Returns the prompts of one published file."""
    content = read_value(file.read_bytes(), str(file))
    return read_as(DirectionPrompts, content, file)


def _only(folder: Path, pattern: str) -> Path:
    """Returns the one file of that pattern. Raises FileNotFoundError where there are more or
    none.
    """
    matches = sorted(folder.glob(pattern))
    if len(matches) != 1:
        raise FileNotFoundError(
            f"{folder} must hold exactly one {pattern}, it holds {[m.name for m in matches]}"
        )
    return matches[0]
