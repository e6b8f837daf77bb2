"""What a policy writes for each prompt, greedily, and the files that keep it so that it is sampled
once.

texts, lengths = greedy_completions("outputs/dapo", rows, max_tokens=96)
texts, lengths = kept_completions("outputs/dapo", rows, 96, Path("outputs/comparison/answers"))
"""

import hashlib
import importlib.util
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import try_to_load_from_cache
from PIL import Image
from transformers import ProcessorMixin

from spanreward.rewards.files.json_lines import object_in
from spanreward.rewards.files.outputs import write_whole
from spanreward.rewards.judges import Question, closing
from spanreward.rewards.judges.judge import Failure
from spanreward.rewards.judges.local.vllm_judge import VllmJudge
from spanreward.rewards.rows.fingerprint import digest
from spanreward.training.grpo.reasoning import answer_of
from spanreward.training.policy import base_of, load_policy
from spanreward.training.turn_end import tokenizer_of

BATCH_ROWS = 64  # that a policy answers, or a judge rates, together
MAX_MODEL_TOKENS = 16_384  # of a prompt with its pictures and the answer, through vLLM
MEMORY_SHARE = 0.85  # of the device's memory for vLLM; a sleeping judge keeps about 2 GB of it
DEADLINE_SECONDS = 6 * 3600.0
# the files of a policy that decide its answers
DECISIVE_SUFFIXES = (".safetensors", ".bin", ".json", ".jinja", ".model")


def kept_completions(
    path: str,
    rows: Sequence[Mapping[str, Any]],
    max_tokens: int,
    folder: Path,
    reasoning_end: str | None = None,
) -> tuple[list[str], list[int]]:
    """Returns what `greedy_completions` does. It is read from a file in `folder` where this policy
    has answered these prompts before, and written there where it has not.

    The file's name is a hash of all that decides the answers: the policy's files (sizes and times,
    or the commit of a hub model), the prompts with their pictures, max_tokens, reasoning_end, and
    whether there are a GPU and vLLM. Raises ValueError for a damaged file.
    """
    name = fingerprint(path, rows, max_tokens, reasoning_end)
    file = folder / f"{name}.json"
    if not file.is_file():
        texts, lengths = greedy_completions(path, rows, max_tokens, reasoning_end)
        folder.mkdir(parents=True, exist_ok=True)
        answers = {"policy": path, "max_tokens": max_tokens, "texts": texts, "lengths": lengths}
        write_whole(file, json.dumps(answers))
    stored = object_in(file.read_bytes())
    for key in ("texts", "lengths"):
        values = stored.get(key)
        if not isinstance(values, list) or len(values) != len(rows):
            raise ValueError(
                f"{file}, which keeps answers of {path}, is damaged: remove it to have them "
                "written again."
            )
    return stored["texts"], stored["lengths"]


def fingerprint(
    path: str,
    rows: Sequence[Mapping[str, Any]],
    max_tokens: int,
    reasoning_end: str | None = None,
) -> str:
    """Returns 16 hexadecimal digits that change with whatever decides the answers."""
    decided_by = (
        version_of(path),
        max_tokens,
        reasoning_end,
        # other kernels and another dtype round otherwise, which may change a greedy choice
        torch.cuda.is_available(),
        by_vllm(path),
    )
    sha = hashlib.sha256(repr(decided_by).encode())
    for row in rows:
        sha.update(repr(row["prompt"]).encode())
        if row.get("image") is not None:
            image = row["image"]
            # the bytes alone do not tell 2 x 3 pixels from 3 x 2
            sha.update(repr(image.size).encode())
            sha.update(image.convert("RGB").tobytes())
    return sha.hexdigest()[:16]


def version_of(path: str) -> list[Any]:
    """Returns what tells a model from what stood under this name before: names, sizes and times of
    a folder's files and of an adapter's base, a hub model's commit, or a hash of a file of answers.
    """
    if Path(path).is_file():
        return [path, digest("", Path(path).read_bytes())]
    folder = Path(path)
    base = base_of(path)
    if not folder.is_dir():
        # where it is cached, with the commit
        return [path, str(try_to_load_from_cache(path, "config.json"))]
    version: list[Any] = [path]
    for file in sorted(folder.iterdir()):
        if file.is_file() and file.suffix in DECISIVE_SUFFIXES:
            # weights may have gigabytes, so their bytes are not hashed
            state = file.stat()
            version.append((file.name, state.st_size, state.st_mtime_ns))
    if base != path:
        version += version_of(base)
    return version


def by_vllm(path: str) -> bool:
    """Returns whether vLLM writes the answers: on a GPU, where it is installed, for a whole
    policy.
    """
    is_adapter = (Path(path) / "adapter_config.json").is_file()
    has_vllm = importlib.util.find_spec("vllm") is not None
    return torch.cuda.is_available() and has_vllm and not is_adapter


def greedy_completions(
    path: str,
    rows: Sequence[Mapping[str, Any]],
    max_tokens: int,
    reasoning_end: str | None = None,
) -> tuple[list[str], list[int]]:
    """Returns what the policy in `path` writes for each row, and how many tokens it took (without
    the end token).

    On a GPU it runs in bfloat16, through vLLM where that is installed (adapters excepted); its
    memory is free again afterwards. reasoning_end: the tag that ends the reasoning of a policy that
    thinks first. The reasoning is no part of the text; its tokens count.
    """
    if by_vllm(path):
        return answers_by_vllm(path, rows, max_tokens, reasoning_end)
    device, dtype = "cpu", "float32"
    if torch.cuda.is_available():
        device, dtype = "cuda", "bfloat16"
    model: Any
    model, processor = load_policy(path, dtype=dtype)
    model = model.to(device).eval()
    written = continue_prompts(model, processor, rows, max_tokens, reasoning_end=reasoning_end)
    # the next policy and the judges need the memory
    del model
    torch.cuda.empty_cache()
    return written


def answers_by_vllm(
    path: str,
    rows: Sequence[Mapping[str, Any]],
    max_tokens: int,
    reasoning_end: str | None = None,
    memory: float | None = MEMORY_SHARE,
    dtype: str = "bfloat16",
) -> tuple[list[str], list[int]]:
    """Returns what `greedy_completions` does, through the judges' engine, whose process ends before
    the answers are judged.

    rows: with an `id` too. memory, dtype: see VllmJudge. Raises RuntimeError for a row without an
    answer, and whatever keeps the engine from starting.
    """
    policy = VllmJudge(
        path, memory, max_model_len=MAX_MODEL_TOKENS, dtype=dtype, deadline=DEADLINE_SECONDS
    )
    # a judge's template keeps it from thinking, and a policy answers as it was trained
    policy.encoder.thinking = True
    questions = []
    for row in rows:
        images = (row["image"],) if row.get("image") else ()
        questions.append(Question(row["prompt"], images))
    # it ends without falling asleep, which would copy its weights into main memory
    with policy, closing([policy]):
        answers = policy.write_ids(questions, max_tokens)
    for row, answer in zip(rows, answers, strict=True):
        if isinstance(answer, Failure):
            raise RuntimeError(
                f"{path} wrote no answer to {row['id']} through vLLM: {answer.message}"
            )
    return in_text(policy.encoder.tokenizer, answers, reasoning_end)


@torch.no_grad()
def continue_prompts(
    model: Any,
    processor: Any,
    rows: Sequence[Mapping[str, Any]],
    max_tokens: int,
    batch_size: int = BATCH_ROWS,
    reasoning_end: str | None = None,
) -> tuple[list[str], list[int]]:
    """Returns what the model writes for each row greedily, and how many tokens it took (without the
    end token).

    processor: a VLM's, or a tokenizer for rows without pictures. rows: with a `prompt` of messages,
    and an `image` or None. batch_size: rows that are answered together. reasoning_end: see
    greedy_completions.
    """
    tokenizer = tokenizer_of(processor)
    written: list[list[int]] = []
    for begin in range(0, len(rows), batch_size):
        batch = rows[begin : begin + batch_size]
        conversations = []
        for row in batch:
            conversations.append(with_picture(row["prompt"], row.get("image")))
        inputs: Any = processor.apply_chat_template(
            conversations,
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
            **padding(processor),
        )
        inputs = inputs.to(model.device)
        for name, value in list(inputs.items()):
            # pixels come as float32
            if value.is_floating_point():
                inputs[name] = value.to(model.dtype)
        ids: torch.Tensor
        ids = model.generate(**inputs, max_new_tokens=max_tokens, do_sample=False)
        # prompts are padded on the left, so all answers begin in one column
        prompt_tokens = inputs["input_ids"].shape[1]
        written += ids[:, prompt_tokens:].tolist()
    return in_text(tokenizer, written, reasoning_end)


def in_text(
    tokenizer: Any, written: Sequence[Any], reasoning_end: str | None
) -> tuple[list[str], list[int]]:
    """Returns the texts of answers given as ids, without the reasoning, and how many tokens each
    took. written: the ids of each answer. reasoning_end: see greedy_completions.
    """
    # what fills up the rows of a batch that ended before the longest one
    end_ids = {tokenizer.pad_token_id, tokenizer.eos_token_id}
    texts = []
    lengths = []
    for ids in written:
        counted = [token for token in ids if token not in end_ids]
        texts.append(answer_of(tokenizer, ids, reasoning_end))
        lengths.append(len(counted))
    return texts, lengths


def padding(processor: Any) -> dict[str, Any]:
    """Returns the arguments that make `apply_chat_template` pad on the left, for a VLM's processor
    or a tokenizer.
    """
    if isinstance(processor, ProcessorMixin):
        return {"processor_kwargs": {"padding": True, "padding_side": "left"}}
    return {"padding": True, "tokenizer_kwargs": {"padding_side": "left"}}


def with_picture(
    prompt: Sequence[Mapping[str, Any]], image: Image.Image | None
) -> list[dict[str, Any]]:
    """Returns the prompt's messages with the picture, if any, before the first one's text."""
    messages = [dict(message) for message in prompt]
    if image is None:
        return messages
    first = messages[0]
    picture_block = {"type": "image", "image": image}
    text_block = {"type": "text", "text": first["content"]}
    pictured = {"role": first["role"], "content": [picture_block, text_block]}
    return [pictured, *messages[1:]]
