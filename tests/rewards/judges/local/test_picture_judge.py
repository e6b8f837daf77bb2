"""Pictures reach LLaVA and Qwen2.5-VL of random weights as in the libraries' own way."""

import random
from dataclasses import replace
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from spanreward.rewards.judges import Failure, Question, Rating
from spanreward.rewards.judges.encoding.prompt import with_converted_images
from spanreward.rewards.judges.local.transformers_judge import TransformersJudge
from spanreward.rewards.judges.local.vllm_judge import VllmJudge
from tests.support.tiny_models import (
    FIRST,
    SECOND,
    ask,
    close,
    encodings,
    prompt_of,
    save_llama,
    save_llava,
    save_qwen,
    started,
    usual,
)

TEXTS = ("A red circle.", "A small blue square and a green star, close together.", "Two dogs.")
ASKED = ("Is it complete?", "Is it right about every colour and every place?")


def questions() -> list[Question]:
    texts = [f"Rate from 1 to 5. {text} {asked}" for text in TEXTS for asked in ASKED]
    shown = ((FIRST,), (SECOND,), (FIRST, SECOND), ())
    return [ask(text, *images) for images, text in product(shown, texts)]


@pytest.fixture(scope="module", params=[save_llava, save_qwen], ids=["llava", "qwen2.5-vl"])
def judge(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return started(request.param, tmp_path_factory.mktemp("seeing"))


def test_the_numbers_of_a_plain_forward_pass(judge: Any) -> None:
    asked = questions()
    ids = list(chain(*judge.encoder.token_ids_by_entry(("1", "2", "3", "4", "5")).values()))
    # texts alone, after pictures: Qwen's positions must not stay shifted
    for some in (asked[:18], asked[18:], asked):
        prompts = sorted(prompt_of(judge, question) for question in some)
        answers = dict(zip(prompts, judge._logprobs(prompts, ids, 0), strict=True))
        for question in some:
            judge._model.base_model.rope_deltas = None
            with torch.inference_mode():
                logits = judge._model(**usual(judge, question)).logits[0, -1]
            expected = logits.log_softmax(-1)
            for number, value in answers[prompt_of(judge, question)].items():
                assert value == pytest.approx(expected[number].item(), abs=1e-4)


def test_batch_single_and_permuted(judge: Any) -> None:
    asked = questions()
    together = judge.rate(asked)
    assert close(together, [judge.rate([question])[0] for question in asked])
    assert len({round(rating.mean, 5) for rating in together}) > len(asked) / 2
    order = random.Random(0).sample(range(len(asked)), len(asked))
    assert close(judge.rate([asked[n] for n in order]), [together[n] for n in order])


def test_a_picture_is_encoded_once_in_a_call(judge: Any) -> None:
    runs = encodings(judge)
    asked = [question for question in questions() if question.images == (FIRST,)]
    before = judge.usage.prompt_tokens, judge.usage.cached_tokens
    judge.rate(asked)
    assert (len(asked), len(runs)) == (6, 1)
    prompts = [prompt_of(judge, question) for question in asked]
    assert judge.usage.prompt_tokens - before[0] == sum(len(prompt.ids) for prompt in prompts)
    assert judge.usage.cached_tokens - before[1] >= 5 * prompts[0].head
    judge.write(asked, 2)
    assert len(runs) == 2
    # equal is the same
    judge.rate([ask(question.messages[0]["content"], FIRST.copy()) for question in asked])
    assert len(runs) == 3
    judge.rate(questions())  # (FIRST), (SECOND), (FIRST, SECOND)
    assert len(runs) == 6


def test_writing_equals_plain_generation(judge: Any) -> None:
    asked = questions()[::2]
    together = judge.write(asked, max_tokens=5)
    assert together == [judge.write([question], max_tokens=5)[0] for question in asked]
    for question, text in zip(asked, together, strict=True):
        judge._model.base_model.rope_deltas = None
        inputs = usual(judge, question)
        (made,) = judge._model.generate(**inputs, max_new_tokens=5, do_sample=False)
        assert text == judge.encoder.decode(made[inputs["input_ids"].shape[1] :].tolist())
    assert len(set(together)) > len(asked) / 2


def test_pictures_of_another_mode_or_size(judge: Any) -> None:
    """Of all modes: test_judged_pictures."""
    shown = (FIRST, FIRST.convert("RGBA"), Image.new("RGB", (1, 1), "red"))
    opaque, see_through, dot = judge.rate([ask("Rate it.", image) for image in shown])
    assert close([see_through], [opaque])
    assert dot.mean != opaque.mean


def test_a_shape_that_the_model_refuses_fails_alone(tmp_path: Path) -> None:
    judge = started(save_qwen, tmp_path)
    shown = (FIRST, Image.new("RGB", (3000, 3)))
    rating, failure = judge.rate([ask("Rate it.", image) for image in shown])
    assert isinstance(rating, Rating)
    assert "aspect ratio" in failure.message


@pytest.mark.parametrize(
    "image", ["https://example.org/cat.png", "cat.png", b"bytes", np.zeros((4, 4, 3))]
)
def test_what_is_no_picture_is_refused(judge: Any, image: Any) -> None:
    with pytest.raises(ValueError, match=r"are PIL images, got (str|bytes|ndarray)"):
        judge.rate([ask("Rate it.", image)])


def test_a_chat_without_a_user_fails_alone(judge: Any) -> None:
    alone = Question([{"role": "assistant", "content": "Rate it."}], images=(FIRST,))
    failure, rating = judge.rate([alone, ask("Rate it.", FIRST)])
    assert isinstance(rating, Rating)
    assert "needs a user message" in failure.message


def test_too_long_with_its_picture(judge: Any) -> None:
    """The pictures' own tokens count: what is cut makes room for them."""
    text = "Rate this: " + "red " * 3000
    question = replace(ask(text, FIRST), description=(11, len(text)))
    seen, unseen = judge.rate([question, replace(question, images=())])
    assert seen.cut > unseen.cut > 0
    prompt, _ = judge.encoder.prompt(with_converted_images([question])[0], 100)
    assert prompt.head < len(prompt.ids) <= 100
    (failure,) = judge.rate([ask(text, FIRST)])
    assert isinstance(failure, Failure)


def test_text_models_say_so(tmp_path: Path) -> None:
    save_llama(tmp_path)
    for judge in (TransformersJudge(str(tmp_path)), VllmJudge(str(tmp_path))):
        assert not judge.sees_pictures
        (failure,) = judge.rate([ask("Rate it.", FIRST)])
        assert f"{tmp_path} reads text only" in failure.message
