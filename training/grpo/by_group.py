"""Span credit of one group of completions, for trainers that score a group at a time
(docs/other_trainers.md).

    advantages = group_advantages(verdicts, texts, ids, finished, tokenizer, scalars, span_coef=0.5)
    advantages[0][3]                    # the advantage of the first completion's fourth token

SpanGRPOTrainer computes the baseline and the standard deviation of the credit over the batch of all
ranks. This module computes the baseline and the deviation over one group. For a batch of one group
the trainer and this module give equal advantages, up to rounding. This module uses numpy and
float64, so that a process without torch can import it.
"""

from collections.abc import Sequence

import numpy as np
from tokenizers import Tokenizer

from spanreward.rewards.base.verdict import Verdict
from spanreward.training.grpo import credit as spans
from spanreward.training.grpo.span_rules import (
    add_centred,
    credit_moments,
    credit_std,
    scale_credit,
)


def group_advantages(
    verdicts: Sequence[Verdict],
    texts: Sequence[str],
    ids: Sequence[Sequence[int]],
    finished: Sequence[bool],
    tokenizer: Tokenizer,
    scalars: Sequence[float],
    span_coef: float,
) -> list[list[float]]:
    """Returns an advantage for each sampled token of each completion.

    Args:
        verdicts: the verdict of each completion of the group.
        texts: the judged text of each completion.
        ids: the token ids of each completion, as sampled.
        finished: for each completion whether it ended by itself, before the length limit. A
            completion gets no span credit if it was cut, if a judge failed on it, or if its ids do
            not decode to its text. Each token of that completion has the scalar advantage.
        tokenizer: the policy's tokenizer, from the package `tokenizers`.
        scalars: the scalar advantage of each completion, as GRPO computes it from the rewards.
        span_coef: how much one standard deviation of span credit adds to an advantage; 0 or more.
    """
    if not any(ids):  # no completion has a token: the matrices below would have no columns
        return [[] for _ in ids]
    tokens, phrases = _phrases_of_group(verdicts, texts, ids, finished, tokenizer)
    # mark the sampled tokens in a matrix, (B, T), padded to the longest completion
    lengths = np.array([len(sampled) for sampled in ids])
    longest = int(lengths.max())
    mask = np.arange(longest) < lengths[:, None]
    # subtract the baseline from the credit, divide by the deviation, and add it to the scalars
    residuals = spans.residual_credit(phrases)
    credit, covered = spans.on_tokens(residuals, tokens, (len(ids), longest))
    std = credit_std(moment.item() for moment in credit_moments(credit, covered))
    scaled = scale_credit(credit, covered, std)
    advantages = add_centred(np.array(scalars, dtype=np.float64), scaled, mask, span_coef)
    rows = zip(advantages.tolist(), ids, strict=True)
    return [row[: len(sampled)] for row, sampled in rows]


def _phrases_of_group(
    verdicts: Sequence[Verdict],
    texts: Sequence[str],
    ids: Sequence[Sequence[int]],
    finished: Sequence[bool],
    tokenizer: Tokenizer,
) -> tuple[dict[int, list[list[int]]], list[spans.Phrase]]:
    """Returns by row the token indices of each phrase, and the phrases in the same order.

    Example: if the completion of row 2 has the phrases "cup" and "red hat", the indices may be
    {2: [[3], [6, 7]]}. Rows without span credit are absent: completions that were cut, on which a
    judge failed, or whose ids do not decode to their text.

    The arguments are those of `group_advantages`.
    """
    special = spans.special_ids(tokenizer)
    tokens: dict[int, list[list[int]]] = {}
    phrases: list[spans.Phrase] = []
    completions = zip(verdicts, texts, ids, finished, strict=True)
    for row, (verdict, text, sampled, ended) in enumerate(completions):
        if not ended or verdict.status.failed:
            continue
        offsets = spans.token_offsets(tokenizer, special, sampled, text)
        if offsets is None:  # the ids do not decode to the text
            continue
        covered_phrases = spans.phrases_on_tokens(verdict, text, offsets, group=0)
        if covered_phrases is not None:  # None: too few tokens are covered
            tokens[row], phrases_of_row = covered_phrases
            phrases += phrases_of_row
    return tokens, phrases
