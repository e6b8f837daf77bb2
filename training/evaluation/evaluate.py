"""Checkpoints side by side: the same held-out prompts, greedy decoding, the same judges, and for Scenes the truth.

evaluation = evaluate({"base": ["b0", "b1"], "dapo": ["d0", "d1"]}, data, rewards, max_tokens=96)
evaluation.scores["dapo"]["truth_f1"]                   # array (seeds, prompts), for training.evaluation.statistics
evaluation.answers["dapo"][0][5].text                   # what seed 0 wrote for prompt 5
"""

import importlib.util
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from PIL import Image
from transformers import ProcessorMixin

from rewards.filler import is_degenerate
from rewards.judges.judge import Failure
from rewards.reward import Explaining, Reward, read_sample
from rewards.verdict import Sample, Status, Verdict
from rewards.vqa import AGREED, vqa_accuracy
from training.data.load import load_data, load_scenes
from training.evaluation.given_answers import is_answers, read_answers
from training.evaluation.report import ShownAnswer
from training.evaluation.vllm_answers import answers_by_vllm
from training.policy import load_policy
from training.recipe import DataPart, MixedPart, ScenesPart
from training.scenes.referee import judge_description
from training.scenes.world import Scene

log = logging.getLogger(__name__)

BATCH = 64


@dataclass(frozen=True, slots=True)
class Evaluation:
    """scores: {model: {metric: (seeds, prompts)}}, NaN where a judge failed. answers: {model: [seed][prompt]}."""

    rows: list[dict[str, Any]]
    scores: dict[str, dict[str, np.ndarray]]
    answers: dict[str, list[list[ShownAnswer]]]


def evaluate(
    checkpoints: Mapping[str, Sequence[str]],
    data: DataPart,
    rewards: Sequence[Reward],
    max_tokens: int,
    progress: Callable[[str], None] = lambda done: None,
    explain: int = 0,
) -> Evaluation:
    """Let every checkpoint (a folder, a hub id, or a JSONL file of answers) answer every prompt of `data`.

    Metrics are truth_* (descriptions of Scenes), vqa_accuracy (questions with four answers or more), <reward>_<part>,
    length, in tokens, and truncated and degenerate, which are 1 or 0 (cut at max_tokens; padded with words that say
    nothing); NaN where a prompt lacks one, as answers from a file lack length and truncated.

    `progress` hears of every finished checkpoint. explain: for so many prompts the answers of each model's first
    checkpoint come with the judge's reasons. Raises ValueError for no rewards, two of one name, none that gives the
    reasons that are wanted, and a file of answers that cannot be used.
    """
    names = [reward.__name__ for reward in rewards]
    if len(set(names)) < len(names) or not names:
        raise ValueError(f"a comparison needs a recipe with rewards of different names (option `name`), got {names}.")
    if explain and not any(isinstance(reward, Explaining) for reward in rewards):
        raise ValueError(f"only harmonic gives reasons, and the recipe has the rewards {names}: leave out --explain.")
    main_parts = {reward.__name__: reward.main_parts for reward in rewards}
    rows = list(load_data(data))
    given = {path: read_answers(path, rows) for paths in checkpoints.values() for path in paths if is_answers(path)}
    scenes: Sequence[Scene | None] = load_scenes(data) if isinstance(data, ScenesPart) else [None] * len(rows)
    scores: dict[str, dict[str, np.ndarray]] = {}
    answers: dict[str, list[list[ShownAnswer]]] = {}
    for model, paths in checkpoints.items():
        tables: list[dict[str, list[float | None]]] = []
        answers[model] = []
        for number, path in enumerate(paths):
            if path in paths[:number]:  # one policy beside several of another model: its answers are the same
                tables.append(tables[paths.index(path)])
                answers[model].append(answers[model][paths.index(path)])
                progress(f"{model} {path}")
                continue
            texts, lengths = written(path, rows, max_tokens, given)
            samples = [read_sample(row, text, row["prompt"]) for row, text in zip(rows, texts, strict=True)]
            of_reward = [judge_in_batches(reward, samples) for reward in rewards]
            verdicts = [dict(zip(names, of_row, strict=True)) for of_row in zip(*of_reward, strict=True)]
            described = [scene if sample.references else None for scene, sample in zip(scenes, samples, strict=True)]
            of_seed = [
                answer(text, length, scene, of_row, main_parts, sample.answers, is_degenerate(sample), max_tokens)
                for text, length, scene, of_row, sample in zip(
                    texts, lengths, described, verdicts, samples, strict=True
                )
            ]
            metrics = dict.fromkeys(metric for entry in of_seed for metric in entry.scores)
            tables.append({metric: [entry.scores.get(metric) for entry in of_seed] for metric in metrics})
            answers[model].append(of_seed)
            if path == paths[0]:
                told = reasons(rewards, samples[:explain], of_reward)
                of_seed[:explain] = [replace(one, reasons=why) for one, why in zip(of_seed, told, strict=False)]
            progress(f"{model} {path}")
        scores[model] = {metric: np.array([t[metric] for t in tables], dtype=float) for metric in tables[0]}
    return Evaluation(rows, scores, answers)


def judge_in_batches(reward: Reward, samples: Sequence[Sample]) -> list[Verdict]:
    """A verdict per sample; a judge's deadline is for a batch, and must not pass because there are many."""
    starts = range(0, len(samples), BATCH)
    return [verdict for at in starts for verdict in reward.judge_samples(samples[at : at + BATCH])]


def reasons(
    rewards: Sequence[Reward], samples: Sequence[Sample], verdicts: Sequence[Sequence[Verdict]]
) -> list[dict[str, str]]:
    """Per sample why it was judged so, {"harmonic_clarity": the judge's words, or why there are none}.

    verdicts: each reward's, of which the first are those of the samples. A judge that breaks does not end the
    comparison.
    """
    told: list[dict[str, str]] = [{} for _ in samples]
    for reward, judged in zip(rewards, verdicts, strict=True):
        if isinstance(reward, Explaining) and samples:
            name = reward.__name__
            try:
                found = reward.explain(samples, judged[: len(samples)])
            except Exception as error:
                log.exception("%s could not say why", name)
                found = [{"": Failure(Status.ERROR, f"{type(error).__name__}: {error}")} for _ in samples]
            for entry, why in zip(told, found, strict=True):
                entry |= {f"{name}_{what}".rstrip("_"): in_words(reason) for what, reason in why.items()}
    return told


def in_words(reason: str | Failure) -> str:
    """The judge's reason, or why there is none."""
    if isinstance(reason, Failure):
        return f"no reason: {reason.message}"
    return reason.strip() or "no reason: the judge wrote nothing"


def written(
    path: str, rows: Sequence[Mapping[str, Any]], max_tokens: int, given: Mapping[str, list[str]]
) -> tuple[list[str], Sequence[int | None]]:
    """The model's answer to each row, and its length in tokens; None for those that were given."""
    return (given[path], [None] * len(rows)) if path in given else greedy_completions(path, rows, max_tokens)


def greedy_completions(path: str, rows: Sequence[Mapping[str, Any]], max_tokens: int) -> tuple[list[str], list[int]]:
    """What the policy in `path` writes for each row, and how many tokens it took (the end token not counted).

    On a GPU where there is one, in bfloat16, through vLLM where that is installed; its memory is free again for the
    judges afterwards.
    """
    model: Any
    if torch.cuda.is_available() and importlib.util.find_spec("vllm") is not None:
        return answers_by_vllm(path, rows, max_tokens)
    if not torch.cuda.is_available():
        model, processor = load_policy(path)
        return continue_prompts(model.eval(), processor, rows, max_tokens)
    model, processor = load_policy(path, dtype="bfloat16")
    written = continue_prompts(model.to("cuda").eval(), processor, rows, max_tokens)
    del model
    torch.cuda.empty_cache()
    return written


@torch.no_grad()
def continue_prompts(
    model: Any, processor: Any, rows: Sequence[Mapping[str, Any]], max_tokens: int, batch_size: int = BATCH
) -> tuple[list[str], list[int]]:
    """What the model writes for each row greedily, and how many tokens it took (the end token not counted).

    rows: with a `prompt` of messages, and an `image` or None. processor: a VLM's, or a tokenizer, for rows without.
    """
    tokenizer = processor.tokenizer if isinstance(processor, ProcessorMixin) else processor
    texts: list[str] = []
    lengths: list[int] = []
    for begin in range(0, len(rows), batch_size):
        batch = rows[begin : begin + batch_size]
        inputs: Any = processor.apply_chat_template(
            [with_picture(row["prompt"], row.get("image")) for row in batch],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
            **padding(processor),
        ).to(model.device)
        pixels = {name: value.to(model.dtype) for name, value in inputs.items() if value.is_floating_point()}
        inputs.update(pixels)
        ids: torch.Tensor = model.generate(**inputs, max_new_tokens=max_tokens, do_sample=False)
        written = ids[:, inputs["input_ids"].shape[1] :]
        texts += processor.batch_decode(written, skip_special_tokens=True)
        ends = torch.tensor([tokenizer.pad_token_id, tokenizer.eos_token_id], device=written.device)
        lengths += (~torch.isin(written, ends)).sum(dim=1).tolist()
    return texts, lengths


def padding(processor: Any) -> dict[str, Any]:
    """What makes `apply_chat_template` pad on the left: a VLM's processor and a tokenizer are told differently."""
    if isinstance(processor, ProcessorMixin):
        return {"processor_kwargs": {"padding": True, "padding_side": "left"}}
    return {"padding": True, "tokenizer_kwargs": {"padding_side": "left"}}


def with_picture(prompt: Sequence[Mapping[str, Any]], image: Image.Image | None) -> list[dict[str, Any]]:
    """The prompt's messages with the picture, where there is one, in front of the first one's text."""
    if image is None:
        return [dict(message) for message in prompt]
    first, *rest = prompt
    blocks = [{"type": "image", "image": image}, {"type": "text", "text": first["content"]}]
    return [{"role": first["role"], "content": blocks}, *(dict(message) for message in rest)]


def answer(
    text: str,
    length: int | None,
    scene: Scene | None,
    verdicts: Mapping[str, Verdict],
    main_parts: Mapping[str, Sequence[str]],
    people: Sequence[str] = (),
    padded: bool = False,
    max_tokens: float = math.inf,
) -> ShownAnswer:
    """One completion with its scores: the truth's, the rewards' main parts (None when the judge failed), its length,
    and 1 where it was cut at max_tokens or is padded.

    verdicts and main_parts: by the reward's name. The first reward's verdict is the one whose spans are shown.
    people: their answers, where a question was asked.
    """
    scores: dict[str, float | None] = {}
    wrong: tuple[tuple[int, int], ...] = ()
    if scene is not None:
        truth = judge_description(text, scene)
        scores = {"truth_f1": truth.f1, "truth_precision": truth.precision, "truth_recall": truth.recall}
        wrong = truth.wrong
    if len(people) > AGREED:
        scores["vqa_accuracy"] = vqa_accuracy(text, people)
    for name, verdict in verdicts.items():
        scores |= {f"{name}_{part}": verdict.parts.get(part) for part in main_parts[name]}
    cut = None if length is None else float(length >= max_tokens)
    looks = {"length": None if length is None else float(length), "truncated": cut, "degenerate": float(padded)}
    return ShownAnswer(text, next(iter(verdicts.values())), {**scores, **looks}, wrong)


def held_out(data: DataPart, count: int) -> DataPart:
    """What to compare on, `count` prompts: for Scenes pictures no training has seen, with full references.

    Of anything else the first rows, so whether they are held out is for whoever names the data to see to. Of several
    parts equally many each.
    """
    if isinstance(data, MixedPart):
        each = -(-count // len(data.parts))
        return data.model_copy(update={"parts": [held_out(part, each) for part in data.parts]})
    if isinstance(data, ScenesPart):
        return data.model_copy(
            update={"split": "test", "count": count, "keep_object": 1.0, "keep_attribute": 1.0, "unsure": 0.0}
        )
    return data.model_copy(update={"count": count})
