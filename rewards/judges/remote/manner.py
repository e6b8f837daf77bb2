"""How one server wants to be asked, learnt from its refusals.

    manner = Manner("/v1")
    better(manner, request, Refused(400, "'temperature' is not supported"), [], "/v1")
    # without temperature
    fitted(request, manner)

A field that is named is left out, but top_logprobs or logprobs becomes the smaller number that is
named beside it, and max_tokens becomes max_completion_tokens. Where no field is named, 400 and 422
leave out the doubtful fields, which this server never took, and 404 and 405 that do not speak of
the model try the path's other beginning.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from spanreward.rewards.judges.remote.answer import Refused

NEEDED = ("model", "prompt", "messages")
LIMITED = ("top_logprobs", "logprobs", "top_n_tokens", "max_tokens")  # the third is TGI's own name
RENAMED = "max_completion_tokens"
UNKNOWN = re.compile(r"(?i)instead|support|recogni|deprecat|permitted|unknown|unexpected|allowed")


@dataclass(frozen=True, slots=True)
class Manner:
    """base: between the server's url and an endpoint's path. fields: a request's fields that
    change: None leaves one out, a text is its other name, a number the most that the server takes.
    """

    base: str
    fields: Mapping[str, str | int | None] = field(default_factory=dict)

    def __str__(self) -> str:
        changes = [
            f"{name} {'left out' if to is None else f'becomes {to}'}"
            for name, to in self.fields.items()
        ]
        return ", ".join([*changes, f"the path begins with {self.base or '/'}"])


def fitted(request: Mapping[str, Any], manner: Manner) -> dict[str, Any]:
    """Returns the request as the server wants it."""
    fields = dict(request)
    for name in manner.fields.keys() & request.keys():
        value, change = fields.pop(name), manner.fields[name]
        if change is not None:
            fields |= {change: value} if isinstance(change, str) else {name: min(value, change)}
    return fields


def better(
    manner: Manner,
    request: Mapping[str, Any],
    refused: Refused,
    doubtful: Collection[str],
    base: str,
) -> Manner | None:
    """Returns the manner that a refusal of the fitted request asks for, None if it asks for none.
    base: another.
    """
    if refused.status not in (400, 404, 405, 422):
        return None
    names = {*LIMITED, *request} - {*NEEDED, *manner.fields.values()}
    named = re.search(rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)", refused.words)
    name = named[0] if named else ""
    changes: dict[str, str | int | None] = {}
    if name in LIMITED[:3]:
        name = next((one for one in LIMITED[:2] if one in request), "")
        numbers = map(int, re.findall(r"\b[0-9]{1,3}\b", refused.words))
        fewer = [number for number in numbers if 0 < number < request.get(name, 0)]
        changes = {name: max(fewer)} if fewer else {}
    elif name == "max_tokens":
        if name in request and RENAMED in refused.words and UNKNOWN.search(refused.words):
            changes = {name: RENAMED}
    elif name:
        changes = {name: None}
    elif refused.status in (400, 422):
        changes = dict.fromkeys(doubtful)
    elif base != manner.base and not re.search(
        rf"\b{re.escape(request['model'])}\b", refused.words
    ):
        return replace(manner, base=base)
    return replace(manner, fields={**manner.fields, **changes}) if changes else None
