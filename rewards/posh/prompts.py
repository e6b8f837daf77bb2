"""Loads PoSh's prompts: our own wording (prompts.yaml) or the two published JSON files, unchanged.

    load_prompts()                                    # rewards/posh/prompts.yaml
    load_prompts("posh/scorers/prompts")              # a folder with precision.json and recall.json
    load_prompts(("a/precision.json", "b/recall.json"))

A placeholder inside a text of a row stays plain text: "{answer}" in a description is not replaced.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import AliasPath, Field

from spanreward.rewards.files.json_lines import read_value
from spanreward.rewards.files.templates import placeholder_validator, read_as
from spanreward.rewards.files.yaml_file import read_yaml_file
from spanreward.rewards.text.quoting import Mark, marks_in

PromptSource = str | Path | tuple[str | Path, str | Path]

DEFAULT_PROMPTS = Path(__file__).with_name("prompts.yaml")  # the prompts in our own wording
DIRECTION_NAMES = ("precision", "recall")  # the names of the published files


def _field_at(*keys: str) -> Any:
    """Returns a pydantic field that reads a template from these keys of the file.

    `_field_at("verifiers", "entity")` reads content["verifiers"]["entity"].
    """
    return Field(validation_alias=AliasPath(*keys))


@dataclass(frozen=True, slots=True)
class DirectionPrompts:
    """The templates of one direction (precision or recall). `fill` replaces their placeholders.

    `placeholder_validator` checks that a template has the right placeholders. The file may have
    other keys too.

    Attributes:
        prefix: shows the text that the judge checks. The published precision prefix also shows the
            source, which is the text with the component in question.
        described: an identifier with details, for a prefix that does not show the source.
        ask_denied: asks about a thing that the source denies. `ask_entity` asks instead if this
            template is empty.

    The published files have no `described` and no `ask_denied`.
    """

    prefix: Annotated[str, placeholder_validator({"text"}, {"target_text", "source_text"})]
    # the forms of a name, first the head alone: "corner"
    plain: Annotated[
        str,
        _field_at("entity_formatters", "no_parents"),
        placeholder_validator({"entity_text"}),
    ]
    # "corner of the table", for a part of an entity
    of_parent: Annotated[
        str,
        _field_at("entity_formatters", "has_parents"),
        placeholder_validator({"entity_text", "parent_entity_identifier"}),
    ]
    # 'corner as in "circle sits in corner"', for the object of a relation
    with_relation: Annotated[
        str,
        _field_at("entity_formatters", "relation"),
        placeholder_validator({"formatted_entity", "relation"}),
    ]
    # the questions: passes 1 and 2 ask about entities, pass 3 asks about attributes, relations and
    # denied things (conduct.py)
    ask_entity: Annotated[
        str,
        _field_at("verifiers", "entity"),
        placeholder_validator({"entity_identifier"}),
    ]
    ask_attribute: Annotated[
        str,
        _field_at("verifiers", "attribute"),
        placeholder_validator({"entity_identifier", "attribute"}),
    ]
    ask_relation: Annotated[
        str,
        _field_at("verifiers", "relation"),
        placeholder_validator({"entity1_identifier", "entity2_identifier", "relation"}),
    ]
    # in published mode the judge turns words into a name: "car parked" becomes "the parked car"
    rewrite_attribute: Annotated[
        str,
        _field_at("rewrite", "attribute"),
        placeholder_validator({"entity_identifier"}),
    ]
    rewrite_relation: Annotated[
        str,
        _field_at("rewrite", "relation"),
        placeholder_validator({"entity_identifier"}),
    ]
    instructions: Annotated[str, placeholder_validator(set())]
    # "the circle (red, above square)", an identifier with details
    described: Annotated[
        str,
        _field_at("entity_formatters", "described"),
        placeholder_validator({"entity_identifier", "attributes"}),
    ] = ""
    ask_denied: Annotated[
        str,
        _field_at("verifiers", "denied"),
        placeholder_validator({"entity_identifier"}),
    ] = ""


@dataclass(frozen=True, slots=True)
class PicturePrompts(DirectionPrompts):
    """The templates for questions about a picture. The prefix shows no text, so the prompt contains
    only the names from the completion.
    """

    prefix: Annotated[str, placeholder_validator(set())]


@dataclass(frozen=True, slots=True)
class PoshPrompts:
    """The templates of all directions.

    Attributes:
        precision: looks up the completion's components in the reference.
        recall: looks up the reference's components in the completion.
        picture: looks up the completion's components in the picture. None for the published files.
    """

    precision: DirectionPrompts
    recall: DirectionPrompts
    picture: PicturePrompts | None = None

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The fixed lines of the templates, such as "TEXT:".

        The prompts mask these lines in texts of rows. Otherwise a completion could contain such a
        line, end its own part of the prompt and address the judge.
        """
        templates = []
        # the templates around the texts of rows; a picture's prompt has only short names from a row
        for direction in (self.precision, self.recall):
            templates += [direction.instructions, direction.prefix]
        return marks_in(*templates)

    def of_picture(self) -> PicturePrompts:
        """Returns the templates for pictures. Raises ValueError if the prompts have no such
        templates.
        """
        if self.picture is None:
            raise ValueError(
                "these prompts have no part `picture`: copy that of rewards/posh/prompts.yaml, or "
                "take evidence='reference'."
            )
        return self.picture


def load_prompts(source: PromptSource | None = None) -> PoshPrompts:
    """Returns the prompts from files.

    source: a YAML file like prompts.yaml, a folder with the two published JSON files, or a pair of
    JSON files (precision, recall). None loads prompts.yaml.

    Raises FileNotFoundError for a missing file. Raises ValueError for a template that is missing or
    has the wrong placeholders.
    """
    # a pair of files; otherwise a folder or one YAML file
    if isinstance(source, tuple):
        return _published_prompts(map(Path, source))
    path = DEFAULT_PROMPTS if source is None else Path(source)
    if not path.exists():
        raise FileNotFoundError(
            f"there are no prompts at {path}: prompts= is a YAML file, or the folder with the "
            "published precision.json and recall.json"
        )
    if path.is_dir():
        return _published_prompts(
            _only_file(path, f"*{direction}.json") for direction in DIRECTION_NAMES
        )
    return read_as(PoshPrompts, read_yaml_file(path), path)


def _published_prompts(files: Iterable[Path]) -> PoshPrompts:
    """Returns the prompts from the two published files: first the precision file, then the recall
    file.
    """
    precision, recall = map(_direction_of, files)
    return PoshPrompts(precision, recall)


def _direction_of(file: Path) -> DirectionPrompts:
    """Returns the templates of one direction from a published JSON file."""
    content = read_value(file.read_bytes(), str(file))
    return read_as(DirectionPrompts, content, file)


def _only_file(folder: Path, pattern: str) -> Path:
    """Returns the folder's only file with this pattern, such as "*recall.json".

    Raises FileNotFoundError unless exactly one file matches.
    """
    matches = sorted(folder.glob(pattern))
    if len(matches) != 1:
        raise FileNotFoundError(
            f"{folder} must hold exactly one {pattern}, it holds {[m.name for m in matches]}"
        )
    return matches[0]
