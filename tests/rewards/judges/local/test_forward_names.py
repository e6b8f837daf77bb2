"""A judge's ratings do not depend on what transformers calls a forward's arguments."""

import inspect
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from spanreward.rewards.judges.local.forward_names import cache_name, selects_positions
from spanreward.rewards.judges.local.transformers_judge import TransformersJudge
from tests.support.tiny_models import close, questions, save_llama


class Forwarding:
    """A loaded model behind a forward of another signature, as another transformers has it."""

    def __init__(self, model: Any) -> None:
        self.model, self.base_model, self.device = model, model.base_model, model.device

    def __call__(self, **arguments: Any) -> Any:
        return self.forward(**arguments)

    def own(self, ids: Any, cache: Any, use_cache: Any, logits_to_keep: Any) -> tuple[Any, Any]:
        """The output and the cache, by the name in the transformers that is installed here."""
        name = str(cache_name(self.model))
        options = {"use_cache": use_cache, "logits_to_keep": logits_to_keep, name: cache}
        output = self.model(input_ids=ids, **options)
        return output, output[name] if use_cache else None


class OldName(Forwarding):
    """transformers before 5.24."""

    def forward(
        self, input_ids: Any, past_key_values: Any = None, use_cache: Any = None,
        logits_to_keep: Any = 0, **swallowed: Any,
    ) -> Any:  # fmt: skip
        assert not swallowed
        output, cache = self.own(input_ids, past_key_values, use_cache, logits_to_keep)
        return Output(logits=output.logits, past_key_values=cache)


class NewName(Forwarding):
    """transformers from 5.24 on."""

    def forward(
        self, input_ids: Any, cache: Any = None, use_cache: Any = None, logits_to_keep: Any = 0,
        **swallowed: Any,
    ) -> Any:  # fmt: skip
        assert not swallowed
        output, later = self.own(input_ids, cache, use_cache, logits_to_keep)
        return Output(logits=output.logits, cache=later)


class WithoutCache(Forwarding):
    """A model that keeps nothing of earlier tokens and returns the logits of all positions."""

    def forward(self, input_ids: Any, use_cache: Any = None, **swallowed: Any) -> Any:
        assert not swallowed
        assert not use_cache
        return Output(logits=self.model(input_ids=input_ids).logits)


class Output(SimpleNamespace):
    """What a forward returns: fields by attribute or by name."""

    def __getitem__(self, name: str) -> Any:
        return vars(self)[name]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tiny")
    save_llama(path)
    return path


@pytest.mark.parametrize("kind", [OldName, NewName, WithoutCache])
def test_ratings_are_the_same_by_every_signature(kind: type[Forwarding], folder: Path) -> None:
    plain, judge = (TransformersJudge(str(folder), batch_size=4, min_mass=0.0) for _ in range(2))
    judge.start()
    judge._model = kind(judge._model)
    judge._cache_name = cache_name(judge._model)
    judge._selects_positions = selects_positions(judge._model)
    assert close(judge.rate(questions()), plain.rate(questions()))
    assert (judge.usage.cached_tokens > 0) == (kind is not WithoutCache)


def test_what_the_judge_gives_a_model_is_in_its_signature(folder: Path) -> None:
    """With the transformers that is installed here: nothing goes to **kwargs."""
    judge = TransformersJudge(str(folder), batch_size=4, min_mass=0.0)
    judge.start()
    model: Any = judge._model
    given: set[str] = set()
    model.register_forward_pre_hook(lambda _, __, named: given.update(named), with_kwargs=True)
    judge.rate(questions())
    assert {"input_ids", "use_cache", "logits_to_keep", cache_name(model)} <= given
    assert given <= set(inspect.signature(model.forward).parameters)
