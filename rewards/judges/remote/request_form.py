"""The form in which one server accepts requests, learnt from the server's refusals.

    form = RequestForm("/v1")
    better_form(form, request, Refused(400, "'temperature' is not supported"), [], "/v1")
    # without temperature
    fit_request(request, form)

A field that the refusal names is left out, with two exceptions. For top_logprobs and logprobs, the
refusal may name a smaller number. Then that number of log-probabilities is asked for, and otherwise
none. max_tokens is renamed to max_completion_tokens, or raised to the least number that the refusal
names.

If a refusal with 400 or 422 names no field, the doubtful fields are left out: fields that this
server has never taken. After a further refusal that mentions parameters, the log-probabilities are
left out. After a 404 or 405 that does not name the model, the other beginning of the path is tried.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from spanreward.rewards.judges.remote.answer import Refused

NEEDED_FIELDS = ("model", "prompt", "messages")  # fields that are never left out
LOGPROB_FIELDS = ("top_logprobs", "logprobs")
# The names for the length of an answer. The last name is used at OpenAI's other endpoint.
LENGTH_FIELDS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
# Matches "Logprobs is not enabled", "log probabilities", and top_n_tokens, TGI's name for the
# number of log-probabilities.
ABOUT_LOGPROBS = re.compile(r"(?i)log[ _-]?prob|top_n_tokens")
PARAMETER_WORD = re.compile(r"(?i)\bparameters?\b")
NEW_LENGTH_FIELD = "max_completion_tokens"
# Matches "Expected a value >= 16", "must be at least 16", "greater than or equal to 16", "minimum
# of 16" (the number is in the group `after`), and "16 or more" (`before`).
LEAST_VALUE_PATTERN = re.compile(
    r"(?i)(?:>=|at least|no less than|greater than or equal to|minimum(?: value)?(?: is| of|:)?)"
    r"\s*(?P<after>[0-9]{1,4})\b|\b(?P<before>[0-9]{1,4}) (?:or more|at least)"
)
# The largest minimum of max_tokens that is accepted. A larger minimum is too much for a rating of
# one token.
LARGEST_MIN_TOKENS = 1024
# Words of a refusal about the name of a field. A refusal without them is about the field's value.
UNKNOWN_FIELD_WORDS = re.compile(
    r"(?i)instead|support|recogni|deprecat|permitted|unknown|unexpected|allowed"
)


@dataclass(frozen=True, slots=True)
class RequestForm:
    """The changes that a server needs in each request.

    Attributes:
        base: the path between the server's url and an endpoint's path, such as "/v1".
        fields: the fields to change, by name. None leaves a field out. A text is the field's other
            name. A number is the most log-probabilities that the server takes.
        min_tokens: the smallest max_tokens that the server takes.
    """

    base: str
    fields: Mapping[str, str | int | None] = field(default_factory=dict)
    min_tokens: int = 0

    def __str__(self) -> str:  # "temperature left out, the path begins with /v1"
        changes = []
        for name, change in self.fields.items():
            if change is None:
                changes.append(f"{name} left out")
            else:
                changes.append(f"{name} becomes {change}")
        if self.min_tokens:
            changes.append(f"at least {self.min_tokens} tokens")
        return ", ".join([*changes, f"the path begins with {self.base or '/'}"])


def fit_request(request: Mapping[str, Any], form: RequestForm) -> dict[str, Any]:
    """Returns the request with the changes of the form: a field gets another name, is left out, or
    gets a smaller or larger number.
    """
    fields = dict(request)
    if "max_tokens" in fields:
        fields["max_tokens"] = max(fields["max_tokens"], form.min_tokens)
    for name in form.fields.keys() & request.keys():
        value = fields.pop(name)
        change = form.fields[name]
        # a text is the field's other name, None leaves the field out, and a number is the largest
        # value
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
    """Returns a form with the change that a refusal asks for, or None if the refusal asks for no
    change.

    form: the form of the refused request. request: that request, after `fit_request`. doubtful: the
    request's fields that this server has never taken. base: another path to try, or the form's own
    path if there is no other path.
    """
    # Log-probabilities come before other fields: a smaller number of them may be enough, so that
    # the field is not left out.
    if ABOUT_LOGPROBS.search(refused.words):
        return _with_fewer_logprobs(form, request, refused)
    if refused.status not in (400, 404, 405, 422):
        return None  # such a refusal is not about the form
    name = _named_field(request, refused.words)
    if name in LENGTH_FIELDS:
        return _with_other_length(form, request, refused)
    if name:
        return _without_fields(form, [name])
    # If the refusal names no field, all doubtful fields are left out.
    if refused.status in (400, 422) and doubtful:
        return _without_fields(form, doubtful)
    if PARAMETER_WORD.search(refused.words):
        return _with_fewer_logprobs(form, request, refused)
    if refused.status in (404, 405):
        return _with_other_base(form, request, refused, base)
    return None


def _named_field(request: Mapping[str, Any], words: str) -> str:
    """Returns the first name in a refusal that is the name of a field of the request, or any name
    for the length of an answer (LENGTH_FIELDS). Returns "" if the refusal has no such name.

    "'temperature' is not supported" gives "temperature". "max_output_tokens must be at least 16"
    gives "max_output_tokens", although the request calls the length max_tokens.

    words: the refusal's words.
    """
    names = [name for name in (*LENGTH_FIELDS, *request) if name not in NEEDED_FIELDS]
    alternatives = "|".join(map(re.escape, names))
    match = re.search(rf"(?<!\w)(?:{alternatives})(?!\w)", words)
    return match[0] if match else ""


def _without_fields(form: RequestForm, names: Collection[str]) -> RequestForm:
    """Returns the form with these fields left out."""
    left_out = dict.fromkeys(names)  # None leaves a field out
    return replace(form, fields={**form.fields, **left_out})


def _with_other_base(
    form: RequestForm,
    request: Mapping[str, Any],
    refused: Refused,
    base: str,
) -> RequestForm | None:
    """Returns the form with the other path `base` after a 404 or 405. The result is None if the
    form has this path already, or if the refusal names the model: then the server has no such
    model, and its path is right.
    """
    about_model = re.search(rf"\b{re.escape(request['model'])}\b", refused.words)
    if base == form.base or about_model:
        return None
    return replace(form, base=base)


def _with_fewer_logprobs(
    form: RequestForm, request: Mapping[str, Any], refused: Refused
) -> RequestForm | None:
    """Returns a form that asks for as many log-probabilities as the refusal names, or for none if
    the refusal names no smaller number. Returns None if the refused request asks for none.

    After "top_logprobs is 20, and at most 5 are allowed" the form asks for 5.
    """
    # A chat has the number in `top_logprobs`, and True in `logprobs`. A completion has the number
    # in `logprobs`.
    name = "top_logprobs" if "top_logprobs" in request else "logprobs"
    if name not in request:
        return None
    current = request[name]
    numbers = map(int, re.findall(r"\b[0-9]{1,3}\b", refused.words))
    # A refusal may also name the number that is too large.
    fewer = [number for number in numbers if 0 < number < current]
    if not fewer:
        return _without_fields(form, LOGPROB_FIELDS)
    return replace(form, fields={**form.fields, name: max(fewer)})


def _with_other_length(
    form: RequestForm, request: Mapping[str, Any], refused: Refused
) -> RequestForm | None:
    """Returns a form that calls the answer's length max_completion_tokens, or that asks for a
    longer answer. The result is None if the refusal asks for neither change.
    """
    # "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    speaks_of_name = NEW_LENGTH_FIELD in refused.words and UNKNOWN_FIELD_WORDS.search(refused.words)
    if "max_tokens" in request and speaks_of_name:
        return replace(form, fields={**form.fields, "max_tokens": NEW_LENGTH_FIELD})
    # "Expected a value >= 16" asks for a longer answer.
    current = request.get("max_tokens", request.get(NEW_LENGTH_FIELD, 0))
    match = LEAST_VALUE_PATTERN.search(refused.words)
    if match is None:
        return None
    # the number is after or before the words of the pattern: ">= 16", "16 or more"
    least = int(match["after"] or match["before"])
    is_longer = least > current
    is_acceptable = least <= LARGEST_MIN_TOKENS
    if is_longer and is_acceptable:
        return replace(form, min_tokens=least)
    return None
