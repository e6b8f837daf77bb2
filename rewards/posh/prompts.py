"""PoSh's prompts: our own wording (prompts.yaml), or the two published JSON files as they are.

    load_prompts()                                    # rewards/posh/prompts.yaml
    load_prompts("posh/scorers/prompts")              # a folder with precision.json and recall.json
    load_prompts(("a/precision.json", "b/recall.json"))

Placeholders are filled in one pass: a description or identifier that itself contains `{answer}` stays plain text.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewards.templates import placeholders
from rewards.yaml_file import read_yaml_file

PromptSource = str | Path | tuple[str | Path, str | Path]

DEFAULT = Path(__file__).with_name("prompts.yaml")

# Where each template stands in the files, and the placeholders it must have: one of these sets, all of it. A prefix
# shows the text that is asked about, alone or (the published precision) beside the text the question comes from.
_TEMPLATES: dict[str, tuple[tuple[str, ...], list[set[str]]]] = {
    "prefix": (("prefix",), [{"text"}, {"target_text", "source_text"}]),
    "plain": (("entity_formatters", "no_parents"), [{"entity_text"}]),
    "of_parent": (("entity_formatters", "has_parents"), [{"entity_text", "parent_entity_identifier"}]),
    "with_relation": (("entity_formatters", "relation"), [{"formatted_entity", "relation"}]),
    "ask_entity": (("verifiers", "entity"), [{"entity_identifier"}]),
    "ask_attribute": (("verifiers", "attribute"), [{"entity_identifier", "attribute"}]),
    "ask_relation": (("verifiers", "relation"), [{"entity1_identifier", "entity2_identifier", "relation"}]),
    "rewrite_attribute": (("rewrite", "attribute"), [{"entity_identifier"}]),
    "rewrite_relation": (("rewrite", "relation"), [{"entity_identifier"}]),
    "instructions": (("instructions",), [set()]),
    "described": (("entity_formatters", "described"), [{"entity_identifier", "attributes"}]),
}
_OPTIONAL = {"described"}


@dataclass(frozen=True, slots=True)
class DirectionPrompts:
    """The templates of one direction. `fill` puts values into one of them.

    described: an identifier with what else is said of it, for prefixes that do not show the text it comes from; the
    published files have none.
    """

    prefix: str
    plain: str
    of_parent: str
    with_relation: str
    ask_entity: str
    ask_attribute: str
    ask_relation: str
    rewrite_attribute: str
    rewrite_relation: str
    instructions: str
    described: str = ""


@dataclass(frozen=True, slots=True)
class PoshPrompts:
    """Both directions: precision asks of the reference what the completion says, recall the reverse."""

    precision: DirectionPrompts
    recall: DirectionPrompts


def load_prompts(source: PromptSource | None = None) -> PoshPrompts:
    """Read a YAML file with both directions, a folder with the two JSON files, or the pair of them.

    Raises FileNotFoundError, or ValueError when a template is missing or has the wrong placeholders.
    """
    if isinstance(source, tuple):
        precision, recall = (Path(path) for path in source)
    else:
        path = DEFAULT if source is None else Path(source)
        if not path.exists():
            raise FileNotFoundError(
                f"there are no prompts at {path}: prompts= is a YAML file, or the folder with the published "
                "precision.json and recall.json"
            )
        if not path.is_dir():
            data = read_yaml_file(path)
            if not isinstance(data, dict) or not {"precision", "recall"} <= data.keys():
                raise ValueError(f"{path} must hold precision and recall: copy {DEFAULT} and change what you like.")
            return PoshPrompts(
                wording(data["precision"], f"{path} (precision)"),
                wording(data["recall"], f"{path} (recall)"),
            )
        precision, recall = (_only(path, f"*{direction}.json") for direction in ("precision", "recall"))
    return PoshPrompts(
        wording(_json(precision), str(precision)),
        wording(_json(recall), str(recall)),
    )


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}.") from None


def wording(data: Any, where: str) -> DirectionPrompts:
    """One direction's templates from the files' nested structure.

    Raises ValueError naming `where` and the template that is missing or has other placeholders than it must.
    """
    templates = {}
    for name, (keys, allowed) in _TEMPLATES.items():
        value: Any = data
        for key in keys:
            value = value.get(key, {}) if isinstance(value, Mapping) else {}
        if not value and name in _OPTIONAL:
            continue
        if not isinstance(value, str):
            raise ValueError(f"{where} lacks the prompt {'.'.join(keys)!r}")
        found = placeholders(value)
        if found not in allowed:
            wanted = " or ".join(map(str, allowed))
            raise ValueError(f"{where}: the prompt {'.'.join(keys)!r} must have placeholders {wanted}, has {found}")
        templates[name] = value
    return DirectionPrompts(**templates)


def _only(folder: Path, pattern: str) -> Path:
    matches = sorted(folder.glob(pattern))
    if len(matches) != 1:
        raise FileNotFoundError(f"{folder} must hold exactly one {pattern}, it holds {[m.name for m in matches]}")
    return matches[0]
