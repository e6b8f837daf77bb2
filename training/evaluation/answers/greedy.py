"""Samples a policy's answers greedily, and keeps the answers in files so that no policy answers the
same prompts twice.

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
from spanreward.rewards.rows.fingerprint import short_digest
from spanreward.training.grpo.reasoning import answer_of
from spanreward.training.policy import base_of, load_policy
from spanreward.training.turn_end import tokenizer_of

BATCH_ROWS = 64  # rows that a policy answers, or a judge rates, at a time
MAX_MODEL_TOKENS = 16_384  # tokens of a prompt, its pictures and its answer, through vLLM
MEMORY_SHARE = 0.85  # of the GPU's memory is for vLLM; a sleeping judge holds about 2 GB of the GPU
DEADLINE_SECONDS = 6 * 3600.0
# the suffixes of the files that decide a policy's answers
DECISIVE_SUFFIXES = (".safetensors", ".bin", ".json", ".jinja", ".model")


def kept_completions(
    path: str,
    rows: Sequence[Mapping[str, Any]],
    max_tokens: int,
    folder: Path,
    reasoning_end: str | None = None,
) -> tuple[list[str], list[int]]:
    """Returns the policy's greedy answers, as `greedy_completions` does, but samples the answers
    only once.

    The answers are kept in a file of `folder`. A later call for the same policy and the same
    prompts reads this file. The file's name is a hash of everything that decides the answers
    (`answers_fingerprint`), so a changed policy or prompt gets a new file. path: the policy's
    folder or id on the hub. Raises ValueError for a damaged file.
    """
    name = answers_fingerprint(path, rows, max_tokens, reasoning_end)
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


def answers_fingerprint(
    path: str,
    rows: Sequence[Mapping[str, Any]],
    max_tokens: int,
    reasoning_end: str | None = None,
) -> str:
    """Returns 16 hexadecimal digits that change with everything that decides the greedy answers.

    The answers are decided by the policy's files (sizes and times) or its commit on the hub, and by
    the prompts and the pictures. The answers are also decided by max_tokens, reasoning_end, and
    whether the machine has a GPU and vLLM.
    """
    decided_by = (
        version_of(path),
        max_tokens,
        reasoning_end,
        # a GPU, bfloat16 and vLLM round differently, and rounding may change a greedy choice
        torch.cuda.is_available(),
        by_vllm(path),
    )
    sha = hashlib.sha256(repr(decided_by).encode())
    for row in rows:
        sha.update(repr(row["prompt"]).encode())
        image = row.get("image")
        if image is not None:
            # the size too, because pictures of 2 x 3 and 3 x 2 pixels may have equal bytes
            sha.update(repr(image.size).encode())
            sha.update(image.convert("RGB").tobytes())
    return sha.hexdigest()[:16]


def version_of(path: str) -> list[Any]:
    """Returns values that change when another model takes this path or id, such as after a second
    training.

    A folder gives the names, sizes and times of its files, and of the files of an adapter's base
    model. A model of the hub gives its commit in the local cache. A file of answers gives a hash of
    its bytes.
    """
    if Path(path).is_file():  # a file of answers
        return [path, short_digest("", Path(path).read_bytes())]
    if not Path(path).is_dir():  # a model of the hub
        # the path of the file in the local cache contains the commit
        cached_config = try_to_load_from_cache(path, "config.json")
        return [path, str(cached_config)]
    version: list[Any] = [path]
    for file in sorted(Path(path).iterdir()):
        if file.is_file() and file.suffix in DECISIVE_SUFFIXES:
            # sizes and times, because hashing gigabytes of weights takes minutes
            state = file.stat()
            version.append((file.name, state.st_size, state.st_mtime_ns))
    base = base_of(path)
    if base != path:  # the folder has an adapter of this base model
        version += version_of(base)
    return version


def by_vllm(path: str) -> bool:
    """Returns whether vLLM samples the policy. This needs vLLM, a GPU, and a policy that is no
    adapter.
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
    """Returns the policy's greedy answer to each row, and the number of tokens of each answer.

    The policy runs in bfloat16 on a GPU, through vLLM if possible (`by_vllm`), or in float32 on the
    CPU. Its memory is free again when the function returns. path: the policy's folder or id on the
    hub. rows: each with a `prompt` of messages and an `image` or None. reasoning_end: the tag that
    ends the reasoning of a policy that thinks before it answers, such as "</think>". The texts
    leave out the reasoning. The numbers of tokens include the reasoning, but not the end token.
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
    """Returns the policy's greedy answer to each row, and the number of tokens of each answer, as
    `greedy_completions` does. The judges' vLLM engine samples the answers.

    The engine's process ends before the function returns, so that the judges have the GPU's memory.
    rows: each with `prompt`, `image` and `id`. reasoning_end: the tag that ends the reasoning, such
    as "</think>"; None for a policy that does not reason. memory: the share of the GPU's memory for
    vLLM, or the bytes of its KV cache if above 1. dtype: of the weights. Raises RuntimeError
    for a row without an answer, and every error that keeps the engine from starting.
    """
    policy = VllmJudge(
        path, memory, max_model_len=MAX_MODEL_TOKENS, dtype=dtype, deadline=DEADLINE_SECONDS
    )
    # judges are kept from thinking, but a policy must answer as it was trained
    policy.encoder.thinking = True
    questions = []
    for row in rows:
        images = (row["image"],) if row.get("image") else ()
        questions.append(Question(row["prompt"], images))
    # At the end of this `with`, `closing` comes first and ends the engine. Then `policy` has no
    # running engine to put to sleep, which would copy the weights into main memory.
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
    """Returns the model's greedy answer to each row, and the number of tokens of each answer.

    processor: a VLM's processor, or a tokenizer if no row has a picture. rows: each with a `prompt`
    of messages and an `image` or None. batch_size: rows that are answered at a time. reasoning_end:
    the tag that ends the reasoning, such as "</think>"; the texts leave out the reasoning. None for
    a policy that does not reason.
    """
    written: list[list[int]] = []
    for begin in range(0, len(rows), batch_size):
        inputs = model_inputs(model, processor, rows[begin : begin + batch_size])
        ids: torch.Tensor
        ids = model.generate(**inputs, max_new_tokens=max_tokens, do_sample=False)
        # prompts are padded on the left, so all answers begin in one column
        prompt_tokens = inputs["input_ids"].shape[1]
        written += ids[:, prompt_tokens:].tolist()
    return in_text(tokenizer_of(processor), written, reasoning_end)


def model_inputs(model: Any, processor: Any, batch: Sequence[Mapping[str, Any]]) -> Any:
    """Returns the inputs of the model for the rows of a batch: the token ids of the prompts, padded
    on the left, and the pixels of the pictures, on the model's device.

    processor: a VLM's processor, or a tokenizer if no row has a picture. batch: rows, each with a
    `prompt` of messages and an `image` or None.
    """
    conversations = [with_picture(row["prompt"], row.get("image")) for row in batch]
    inputs: Any = processor.apply_chat_template(
        conversations,
        add_generation_prompt=True,
        tokenize=True,
        return_dict=True,
        return_tensors="pt",
        **left_padding(processor),
    )
    inputs = inputs.to(model.device)
    for name, value in list(inputs.items()):
        # the processor makes pixels of float32
        if value.is_floating_point():
            inputs[name] = value.to(model.dtype)
    return inputs


def in_text(
    tokenizer: Any, written: Sequence[Any], reasoning_end: str | None
) -> tuple[list[str], list[int]]:
    """Returns the texts of sampled answers without their reasoning, and the number of tokens of
    each answer.

    written: the token ids of each answer. End and padding tokens are not counted. reasoning_end:
    the tag that ends the reasoning, such as "</think>"; an answer without the tag becomes "". None
    for a policy that does not reason.
    """
    # `generate` fills an answer up with these ids until the batch's longest answer ends
    end_ids = {tokenizer.pad_token_id, tokenizer.eos_token_id}
    texts = []
    lengths = []
    for ids in written:
        counted = [token for token in ids if token not in end_ids]
        texts.append(answer_of(tokenizer, ids, reasoning_end))
        lengths.append(len(counted))
    return texts, lengths


def left_padding(processor: Any) -> dict[str, Any]:
    """Returns the arguments that make `apply_chat_template` pad on the left.

    A VLM's processor and a tokenizer take different arguments.
    """
    if isinstance(processor, ProcessorMixin):
        return {"processor_kwargs": {"padding": True, "padding_side": "left"}}
    return {"padding": True, "tokenizer_kwargs": {"padding_side": "left"}}


def with_picture(
    prompt: Sequence[Mapping[str, Any]], image: Image.Image | None
) -> list[dict[str, Any]]:
    """Returns the prompt's messages, with the picture before the text of the first message.

    Without a picture the messages stay as they are.
    """
    messages = [dict(message) for message in prompt]
    if image is None:
        return messages
    first = messages[0]
    picture_block = {"type": "image", "image": image}
    text_block = {"type": "text", "text": first["content"]}
    pictured = {"role": first["role"], "content": [picture_block, text_block]}
    return [pictured, *messages[1:]]
