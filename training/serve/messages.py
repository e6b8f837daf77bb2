"""What a client of `spanreward serve` sends and gets, and the OpenAPI schema that says so.

asked = Asked.model_validate_json(b'{"rows": [{"completion": "A dog.", "reference": "A cat."}]}')
samples_of(asked.rows, PoshReward("match"))        # [Sample("", "A dog.", references=("A cat.",))]
"""

from base64 import b64decode
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError
from pydantic.json_schema import models_json_schema
from tokenizers import Tokenizer

from spanreward.rewards.base.verdict import Sample, Verdict
from spanreward.rewards.reward.remote_reward import Answer
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.reward.row import read_sample
from spanreward.training.grpo.credit import token_credit

Text = str | list[dict[str, Any]]
Picture = Annotated[str, Field(pattern="^data:image/[a-z]+;base64,[A-Za-z0-9+/]+={0,2}$")]  # no path, no url


class Row(BaseModel, extra="allow"):
    """A completion with the metric's columns, such as `reference`."""

    completion: Text
    prompt: Text = ""
    completion_ids: list[Annotated[int, Field(ge=0, lt=1 << 32)]] | None = None
    image: Picture | None = None
    images: list[Picture] | None = None


class Asked(BaseModel, extra="forbid"):
    """Rows, and for the credit of their `completion_ids` one of the tokenizers that /health names."""

    rows: list[Row] = Field(min_length=1, max_length=4096)
    tokenizer: str | None = None


def why(error: Exception) -> str:
    """Returns in one sentence why a request is refused."""
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or 'the body'}: {first['msg']} (see /openapi.json)"


def samples_of(rows: Sequence[Row], reward: Reward) -> list[Sample]:
    """Returns the rows' samples. Raises ValueError for a row that the reward cannot read."""
    samples = []
    for number, row in enumerate(rows):
        columns = row.model_extra or {}
        try:
            if missing := reward.missing_column({*columns, *row.model_fields_set}):
                raise ValueError(f"{reward.__name__} needs the key {missing}")
            pictures = [{"bytes": b64decode(one.partition(",")[2])} for one in (row.image, *(row.images or ())) if one]
            samples.append(read_sample({**columns, "images": pictures}, row.completion, row.prompt))
        except ValueError as error:
            raise ValueError(f"row {number}: {error}") from None
    return samples


def credit_of(verdict: Verdict, row: Row, sample: Sample, tokenizer: Tokenizer) -> list[float] | str:
    ids = row.completion_ids or []
    try:
        if tokenizer.decode(ids, skip_special_tokens=True) == sample.completion:
            return token_credit(verdict, ids, tokenizer)
    except ValueError as error:
        return str(error)
    return f"the row's {len(ids)} completion_ids do not decode to its completion"


def openapi() -> dict[str, Any]:
    """Returns the schema of the service."""
    kinds: list[Any] = [(Asked, "validation"), (Answer, "serialization")]
    places, models = models_json_schema(kinds, ref_template="#/components/schemas/{model}")
    asked, told = ({"content": {"application/json": {"schema": places[kind]}}} for kind in kinds)
    answers = {"200": {"description": "verdicts", **told}, "default": {"description": 'a refusal: {"error": "why"}'}}
    paths: dict[str, Any] = {"/score": {"post": {"requestBody": asked, "responses": answers}}}
    for path, about in (("/health", "what is served"), ("/metrics", "counts, as Prometheus reads them")):
        paths[path] = {"get": {"responses": {"200": {"description": about}}}}
    info = {"title": "spanreward serve", "version": version("spanreward")}
    return {"openapi": "3.1.0", "info": info, "paths": paths, "components": {"schemas": models["$defs"]}}
