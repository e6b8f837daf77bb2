"""How one server wants to be asked, learnt from its refusals.

    form = RequestForm("/v1")
    better_form(form, request, Refused(400, "'temperature' is not supported"), [], "/v1")
    # without temperature
    fit_request(request, form)

A field that is named is left out, with these exceptions. top_logprobs or logprobs becomes the
smaller number that is named beside it; without such a number no log-probabilities are asked for.
max_tokens becomes max_completion_tokens, or at least the number that the refusal names. Where no
field is named, 400 and 422 leave out the doubtful fields, which this server never took, and then,
where the refusal speaks of parameters, the log-probabilities. 404 and 405 that do not speak of the
model try the path's other beginning.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from spanreward.rewards.judges.remote.answer import Refused

NEEDED = ("model", "prompt", "messages")  # fields that are never left out
LOGPROBS = ("top_logprobs", "logprobs")
# the last is the name at OpenAI's other endpoint
LENGTHS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
# "Logprobs is not enabled", "log probabilities", and TGI's own name for how many
ABOUT_LOGPROBS = re.compile(r"(?i)log[ _-]?prob|top_n_tokens")
RENAMED = "max_completion_tokens"
# "Expected a value >= 16", "must be at least 16", "greater than or equal to 16", "minimum of 16"
LEAST = re.compile(
    r"(?i)(?:>=|at least|no less than|greater than or equal to|minimum(?: value)?(?: is| of|:)?)"
    r"\s*([0-9]{1,4})\b|\b([0-9]{1,4}) (?:or more|at least)"
)
LARGEST_SHORTEST = 1024  # tokens; a server that wants more is not asked to rate
# says that a field is the wrong one, and not that its value is
UNKNOWN = re.compile(r"(?i)instead|support|recogni|deprecat|permitted|unknown|unexpected|allowed")


@dataclass(frozen=True, slots=True)
class RequestForm:
    """How a request is changed for one server.

    Attributes:
        base: between the server's url and an endpoint's path.
        fields: a request's fields that change: None leaves one out, a text is its other name, a
            number the most log-probabilities that the server takes.
        shortest: the fewest tokens that it lets a question ask for.
    """

    base: str
    fields: Mapping[str, str | int | None] = field(default_factory=dict)
    shortest: int = 0

    def __str__(self) -> str:  # "temperature left out, the path begins with /v1"
        changes = []
        for name, change in self.fields.items():
            if change is None:
                changes.append(f"{name} left out")
            else:
                changes.append(f"{name} becomes {change}")
        if self.shortest:
            changes.append(f"at least {self.shortest} tokens")
        return ", ".join([*changes, f"the path begins with {self.base or '/'}"])


def fit_request(request: Mapping[str, Any], form: RequestForm) -> dict[str, Any]:
    """Returns the request as the server wants it."""
    fields = dict(request)
    if "max_tokens" in fields:
        fields["max_tokens"] = max(fields["max_tokens"], form.shortest)
    for name in form.fields.keys() & request.keys():
        value = fields.pop(name)
        change = form.fields[name]
        if isinstance(change, str):
            fields[change] = value
        elif change is not None:
            fields[name] = min(value, change)
    return fields


def better_form(
    form: RequestForm,
    request: Mapping[str, Any],
    refused: Refused,
    doubtful: Collection[str],
    base: str,
) -> RequestForm | None:
    """Returns the form that a refusal of the fitted request asks for, None if it asks for none.

    doubtful: fields of the request that this server has never taken. base: another than the form's,
    or the same where there is no other.
    """
    # The log-probabilities first: their fields are not simply left out.
    if ABOUT_LOGPROBS.search(refused.words):
        return _with_fewer_logprobs(form, request, refused)
    # a field that the refusal names
    names = {*LENGTHS, *request} - {*NEEDED}
    alternatives = "|".join(map(re.escape, names))
    match = re.search(rf"(?<!\w)(?:{alternatives})(?!\w)", refused.words)
    name = match[0] if match else ""
    if refused.status not in (400, 404, 405, 422):
        return None
    if name in LENGTHS:
        return _with_other_length(form, request, refused)
    if name:
        if name in form.fields.values():
            return None  # it was renamed to this, so no name is right
        return replace(form, fields={**form.fields, name: None})
    # No field is named.
    if refused.status in (400, 422) and doubtful:
        left_out = dict.fromkeys(doubtful)
        return replace(form, fields={**form.fields, **left_out})
    if re.search(r"(?i)\bparameters?\b", refused.words):
        return _with_fewer_logprobs(form, request, refused)
    # A 404 that names the model is of a model that is not there. Any other may be of the path.
    about_model = re.search(rf"\b{re.escape(request['model'])}\b", refused.words)
    has_other_base = base != form.base
    if refused.status in (404, 405) and has_other_base and not about_model:
        return replace(form, base=base)
    return None


def _with_fewer_logprobs(
    form: RequestForm, request: Mapping[str, Any], refused: Refused
) -> RequestForm | None:
    """Asks for as many log-probabilities as the refusal names, or for none.

    None: the request has asked for none already.
    """
    present = [name for name in LOGPROBS if name in request]
    if not present:
        return None
    name = present[0]  # in a chat `logprobs` is only True, and `top_logprobs` the number
    current = request[name]
    numbers = map(int, re.findall(r"\b[0-9]{1,3}\b", refused.words))
    fewer = [number for number in numbers if 0 < number < current]  # not the one that is too large
    changes: dict[str, int | None] = dict.fromkeys(LOGPROBS)
    if fewer:
        changes = {name: max(fewer)}
    return replace(form, fields={**form.fields, **changes})


def _with_other_length(
    form: RequestForm, request: Mapping[str, Any], refused: Refused
) -> RequestForm | None:
    """Calls the answer's length by its other name, or asks for a longer answer."""
    # "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    speaks_of_name = RENAMED in refused.words and UNKNOWN.search(refused.words)
    if "max_tokens" in request and speaks_of_name:
        return replace(form, fields={**form.fields, "max_tokens": RENAMED})
    current = request.get("max_tokens", request.get(RENAMED, 0))
    match = LEAST.search(refused.words)
    if match is None:
        return None
    least = int(match[1] or match[2])
    if current < least <= LARGEST_SHORTEST:
        return replace(form, shortest=least)
    return None
