"""Loads PoSh's prompts: our own wording (prompts.yaml) or the two published JSON files, unchanged.

    load_prompts()                                    # rewards/posh/prompts.yaml
    load_prompts("posh/scorers/prompts")              # a folder with precision.json and recall.json
    load_prompts(("a/precision.json", "b/recall.json"))

A description or identifier that itself contains `{answer}` stays plain text.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from spanreward.rewards.files.json_lines import read_value
from spanreward.rewards.files.templates import placeholders
from spanreward.rewards.files.yaml_file import read_yaml_file

PromptSource = str | Path | tuple[str | Path, str | Path]

DEFAULT = Path(__file__).with_name("prompts.yaml")
DIRECTIONS = ("precision", "recall")


def _template(keys: str, *allowed: set[str], **default: Any) -> Any:
    """Returns the field of a template. keys: its place in the files. allowed: the sets of placeholders it may have."""
    return field(metadata={"keys": keys, "allowed": allowed}, **default)


@dataclass(frozen=True, slots=True)
class DirectionPrompts:
    """The templates of one direction, for `fill`.

    prefix: shows the text that is asked about. The published precision prefix also shows the text that the question
    comes from. described: an identifier with details, for a prefix that does not show the text it comes from.
    ask_denied: asks about a thing that the source says is not there. The published files have neither; such a thing is
    then asked about as others are.
    """

    prefix: str = _template("prefix", {"text"}, {"target_text", "source_text"})
    plain: str = _template("entity_formatters.no_parents", {"entity_text"})
    of_parent: str = _template("entity_formatters.has_parents", {"entity_text", "parent_entity_identifier"})
    with_relation: str = _template("entity_formatters.relation", {"formatted_entity", "relation"})
    ask_entity: str = _template("verifiers.entity", {"entity_identifier"})
    ask_attribute: str = _template("verifiers.attribute", {"entity_identifier", "attribute"})
    ask_relation: str = _template("verifiers.relation", {"entity1_identifier", "entity2_identifier", "relation"})
    rewrite_attribute: str = _template("rewrite.attribute", {"entity_identifier"})
    rewrite_relation: str = _template("rewrite.relation", {"entity_identifier"})
    instructions: str = _template("instructions", set())
    described: str = _template("entity_formatters.described", {"entity_identifier", "attributes"}, default="")
    ask_denied: str = _template("verifiers.denied", {"entity_identifier"}, default="")


@dataclass(frozen=True, slots=True)
class PoshPrompts:
    """Both directions. Precision looks up the completion's components in the reference, recall the reverse."""

    precision: DirectionPrompts
    recall: DirectionPrompts


def load_prompts(source: PromptSource | None = None) -> PoshPrompts:
    """Returns the prompts of a YAML file with both directions, a folder with the two JSON files, or a pair of files.

    Raises FileNotFoundError, or ValueError for a template that is missing or has the wrong placeholders.
    """
    if isinstance(source, tuple):
        return _published(map(Path, source))
    path = DEFAULT if source is None else Path(source)
    if not path.exists():
        raise FileNotFoundError(
            f"there are no prompts at {path}: prompts= is a YAML file, or the folder with the published "
            "precision.json and recall.json"
        )
    if path.is_dir():
        return _published(_only(path, f"*{direction}.json") for direction in DIRECTIONS)
    data = read_yaml_file(path)
    if not isinstance(data, dict) or not set(DIRECTIONS) <= data.keys():
        raise ValueError(f"{path} must hold precision and recall: copy {DEFAULT} and change what you like.")
    return PoshPrompts(*(wording(data[direction], f"{path} ({direction})") for direction in DIRECTIONS))


def _published(files: Iterable[Path]) -> PoshPrompts:
    return PoshPrompts(*(wording(read_value(file.read_bytes(), str(file)), str(file)) for file in files))


def wording(data: Any, where: str) -> DirectionPrompts:
    """Returns one direction's templates. Raises ValueError, naming `where`, for a missing or an invalid template."""
    templates = {}
    for template in fields(DirectionPrompts):
        keys, allowed = template.metadata["keys"], template.metadata["allowed"]
        value: Any = data
        for key in keys.split("."):
            value = value.get(key, {}) if isinstance(value, Mapping) else {}
        if not value and template.default == "":
            continue
        if not isinstance(value, str):
            raise ValueError(f"{where} lacks the prompt {keys!r}")
        found = placeholders(value)
        if found not in allowed:
            wanted = " or ".join(map(str, allowed))
            raise ValueError(f"{where}: the prompt {keys!r} must have placeholders {wanted}, has {found}")
        templates[template.name] = value
    return DirectionPrompts(**templates)


def _only(folder: Path, pattern: str) -> Path:
    matches = sorted(folder.glob(pattern))
    if len(matches) != 1:
        raise FileNotFoundError(f"{folder} must hold exactly one {pattern}, it holds {[m.name for m in matches]}")
    return matches[0]
