"""What a policy samples, and how each of its tokens changed what is still to be expected: Monte
Carlo advantages.

    rollouts = sample(model, processor, rows, completions=8, max_tokens=96, seed=0)  # row after row
    advantages = monte_carlo(model, processor, rows, rollouts, max_tokens=96, count=8, worth=truth_f1, seed=0)
    advantages[0][3]
    # the expected worth with the first completion's fourth token less that without it

    gradient_sizes(model, processor, rows, rollouts)[0][3]
    # how much that token's advantage moves the policy

The advantage of a token is V(the text with it) - V(the text up to it), V being the mean worth of
`count` continuations (of the end of a text its own worth): what a policy gradient would use if it
could be had. Its noise is the continuations'.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch

from spanreward.training.evaluation.answers.greedy import left_padding, with_picture

BATCH = 256  # continuations that are written at once


@dataclass(frozen=True, slots=True)
class Sampled:
    """One completion. row: which prompt it answers. ids: its tokens, the end token with them where
    it `finished`.
    """

    row: int
    ids: tuple[int, ...]
    text: str
    finished: bool


def sample(
    model: Any,
    processor: Any,
    rows: Sequence[Mapping[str, Any]],
    completions: int,
    max_tokens: int,
    seed: int,
) -> list[Sampled]:
    """`completions` of each row at temperature 1, a row's one after another."""
    torch.manual_seed(seed)
    wanted = [(row, ()) for row in range(len(rows)) for _ in range(completions)]
    return list(continued(model, processor, rows, wanted, max_tokens))


def monte_carlo(
    model: Any,
    processor: Any,
    rows: Sequence[Mapping[str, Any]],
    sampled: Sequence[Sampled],
    max_tokens: int,
    count: int,
    worth: Callable[[Sampled], float],
    seed: int,
) -> list[list[float]]:
    """Per completion the advantage of each of its tokens; their sum is its worth less that of an
    empty prefix.

    worth: of a whole completion, from 0 to 1. Raises ValueError for a completion that was cut,
    whose end is unknown.
    """
    if any(not one.finished for one in sampled):
        raise ValueError(
            "only completions that end of themselves have Monte Carlo advantages: leave out the "
            "others"
        )
    torch.manual_seed(seed)
    prefixes = list(
        dict.fromkeys((one.row, one.ids[:end]) for one in sampled for end in range(len(one.ids)))
    )
    prefixes.sort(key=lambda prefix: len(prefix[1]))  # a batch of like lengths needs little padding
    total = dict.fromkeys(prefixes, 0.0)
    wanted = [prefix for prefix in prefixes for _ in range(count)]
    for prefix, one in zip(
        wanted, continued(model, processor, rows, wanted, max_tokens), strict=True
    ):
        total[prefix] += worth(one) / count
    advantages = []
    for one in sampled:
        values = [total[one.row, one.ids[:end]] for end in range(len(one.ids))] + [worth(one)]
        advantages.append([after - before for before, after in pairwise(values)])
    return advantages


@torch.no_grad()
def gradient_sizes(
    model: Any, processor: Any, rows: Sequence[Mapping[str, Any]], sampled: Sequence[Sampled]
) -> list[list[float]]:
    """Per token the squared length of the gradient of its log-probability by the logits, |e_a -
    p|^2, from 0 to 2.

    It is 0 for a token that had to come: what its advantage is does not matter to a policy
    gradient.
    """
    sizes: list[list[float]] = []
    for begin in range(0, len(sampled), BATCH):
        batch = sampled[begin : begin + BATCH]
        inputs = model_inputs(processor, rows, [(one.row, one.ids) for one in batch])
        longest = max(len(one.ids) for one in batch)
        probabilities = model(**inputs).logits[:, -longest - 1 : -1].softmax(dim=-1)
        for one, of_row in zip(batch, probabilities, strict=True):
            own = of_row[longest - len(one.ids) :]
            chosen = own.gather(1, torch.tensor(one.ids).unsqueeze(1)).squeeze(1)
            sizes.append((1 - 2 * chosen + own.square().sum(dim=1)).clamp(min=0).tolist())
    return sizes


@torch.no_grad()
def continued(
    model: Any,
    processor: Any,
    rows: Sequence[Mapping[str, Any]],
    wanted: Sequence[tuple[int, tuple[int, ...]]],
    max_tokens: int,
) -> Iterator[Sampled]:
    """One completion of each (row, prefix of its tokens), of at most max_tokens with the prefix, in
    their order.
    """
    tokenizer = processor.tokenizer
    end = tokenizer.eos_token_id
    for begin in range(0, len(wanted), BATCH):
        batch = wanted[begin : begin + BATCH]
        inputs = model_inputs(processor, rows, batch)
        shortest = min(len(prefix) for _, prefix in batch)
        out = model.generate(
            **inputs,
            max_new_tokens=max_tokens - shortest,
            do_sample=True,
            temperature=1.0,
            top_k=0,
            top_p=1.0,
        )
        new = out[:, inputs["input_ids"].shape[1] :].tolist()
        for (row, prefix), of_row in zip(batch, new, strict=True):
            written = [*prefix, *of_row][:max_tokens]
            finished = end in written
            kept = tuple(written[: written.index(end) + 1] if finished else written)
            yield Sampled(row, kept, tokenizer.decode(kept, skip_special_tokens=True), finished)


def model_inputs(
    processor: Any, rows: Sequence[Mapping[str, Any]], wanted: Sequence[tuple[int, tuple[int, ...]]]
) -> dict[str, torch.Tensor]:
    """Each row's prompt with its picture and the tokens of its prefix, padded on the left."""
    inputs: Any = processor.apply_chat_template(
        [with_picture(rows[row]["prompt"], rows[row]["image"]) for row, _ in wanted],
        add_generation_prompt=True,
        tokenize=True,
        return_dict=True,
        return_tensors="pt",
        **left_padding(processor),
    )
    longest = max(len(prefix) for _, prefix in wanted)
    ids, mask = [], []
    prompts = zip(
        inputs["input_ids"].tolist(), inputs["attention_mask"].tolist(), wanted, strict=True
    )
    for prompt, attended, (_, prefix) in prompts:
        room = longest - len(prefix)
        ids.append([processor.tokenizer.pad_token_id] * room + prompt + list(prefix))
        mask.append([0] * room + attended + [1] * len(prefix))
    return {**inputs, "input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask)}
