"""What vLLM is given for a prompt with pictures, and that it reads what the trainer reads."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from spanreward.rewards.judges.encoding.picture_chat import load_processor
from spanreward.training.grpo.trl_internals.vllm_prompts import expand_once
from tests.support.tiny_models import drawing, save_llava, save_qwen

SIZES = [(60, 44), (112, 56)]


class Engine:
    """Expands each picture's token, as vLLM does, to as many as that picture has."""

    def __init__(self, token: int, lengths: dict[tuple[int, int], int]) -> None:
        self.token, self.lengths = token, lengths
        self.given: list[list[int]] = []
        self.forgot = 0  # times that it forgot what it had made of pictures
        self.llm = SimpleNamespace(llm_engine=self)

    def reset_encoder_cache(self) -> None:
        self.forgot += 1

    def generate(
        self, prompts: list[list[int]], images: Any, num_generations: int = 1
    ) -> tuple[Any, ...]:
        self.given = prompts
        images = images or [None] * len(prompts)
        return [self.read(*one) for one in zip(prompts, images, strict=True)], "sampled"

    def read(self, ids: list[int], pictures: Any) -> list[int]:
        left = [self.lengths[one.size] for one in pictures or ()]
        copies = []
        for token in ids:
            copies += [token] * (left.pop(0) if token == self.token and left else 1)
        return copies


def chat(*pictures: Any) -> list[dict[str, Any]]:
    parts = [{"type": "image", "image": one} for one in pictures]
    return [{"role": "user", "content": [*parts, {"type": "text", "text": "What is in it?"}]}]


@pytest.fixture(params=[save_qwen, save_llava])
def trainer(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return made(request.param, tmp_path)


def made(save: Callable[[Path], None], folder: Path) -> Any:
    save(folder)
    processor = load_processor(str(folder))
    token = processor.tokenizer.convert_tokens_to_ids(processor.image_token)
    trainer = SimpleNamespace(processing_class=processor, token=token)
    lengths = {size: read(trainer, chat(drawing(1, size))).count(token) for size in SIZES}
    assert min(lengths.values()) > 1
    trainer.vllm_generation = trainer.engine = Engine(token, lengths)
    return trainer


def read(trainer: Any, prompt: Any) -> list[int]:
    """As TRL does."""
    options = {"add_generation_prompt": True, "tokenize": True, "return_dict": True}
    return trainer.processing_class.apply_chat_template([prompt], **options)["input_ids"][0]


def test_it_gets_a_token_for_each_picture(trainer: Any) -> None:
    pictures = [drawing(seed, size) for seed, size in enumerate(SIZES)]
    prompts = [chat(pictures[0]), chat(pictures[0]), chat(pictures[1]), chat()]
    ids = [read(trainer, prompt) for prompt in prompts]
    images = [[pictures[0]], [pictures[0]], [pictures[1]], None]
    assert trainer.engine.generate(ids, images)[0] != ids  # TRL issue 6294
    expand_once(trainer.vllm_generation, {trainer.token})
    again, sampled = trainer.vllm_generation.generate(prompts=ids, images=images, num_generations=2)
    assert (again, sampled) == (ids, "sampled")
    assert [one.count(trainer.token) for one in trainer.engine.given] == [1, 1, 1, 0]
    assert trainer.engine.forgot == 1  # which may be of other weights


def test_several_pictures_and_what_a_tool_returned(tmp_path: Path) -> None:
    """Qwen's pictures have a token on each side; a later turn begins with the prompt's ids."""
    trainer = made(save_qwen, tmp_path)
    first, second = (drawing(seed, size) for seed, size in enumerate(SIZES))
    ids = [*read(trainer, chat(first, second)), 7, 8, *read(trainer, chat(second)), 9]
    expand_once(trainer.vllm_generation, {trainer.token})
    assert trainer.vllm_generation.generate([ids], [[first, second, second]])[0] == [ids]
    assert trainer.engine.given[0].count(trainer.token) == 3


def test_without_pictures_prompts_are_as_they_were(trainer: Any) -> None:
    ids = [[*read(trainer, chat()), trainer.token, trainer.token]]
    expand_once(trainer.vllm_generation, {trainer.token})
    assert trainer.vllm_generation.generate(prompts=ids, images=None) == (ids, "sampled")


def test_another_reading_of_the_pictures_is_refused(trainer: Any) -> None:
    """As with a processor that scales pictures otherwise than the one in the model's folder."""
    picture = drawing(1)
    ids = read(trainer, chat(picture))
    expand_once(trainer.vllm_generation, {trainer.token})
    trainer.engine.lengths[picture.size] += 3
    with pytest.raises(ValueError, match=f"as {len(ids) + 3} tokens, .* as {len(ids)}, "):
        trainer.vllm_generation.generate([ids], [[picture]])
