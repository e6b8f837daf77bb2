"""Span credit of one group of completions, for trainers that score a group at a time
(docs/other_trainers.md).

    advantages = group_advantages(verdicts, texts, ids, finished, tokenizer, scalars, span_coef=0.5)
    advantages[0][3]                    # of the first completion's fourth token

SpanGRPOTrainer takes the credit's baseline and deviation from a whole batch over all ranks, here
both are the group's. With a batch of one group the advantages are equal, up to rounding: these are
of numpy and float64, so that a trainer without torch in the process of its rewards has them too.
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
        verdicts: of the group's completions.
        texts: as they were judged.
        ids: as they were sampled.
        finished: which completions ended by themselves. One that was cut has its scalar alone, as
            one that was not judged or whose ids do not decode to its text.
        tokenizer: the policy's, of `tokenizers`.
        scalars: the completions' advantages.
        span_coef: weight of the spans' credit, in standard deviations; 0 or more.
    """
    if not any(ids):  # no token at all: the matrices below would have no columns
        return [[] for _ in ids]
    # find the tokens of each completion's phrases
    special = spans.special_ids(tokenizer)
    tokens: dict[int, list[list[int]]] = {}
    phrases: list[spans.Phrase] = []
    completions = zip(verdicts, texts, ids, finished, strict=True)
    for row, (verdict, text, sampled, ended) in enumerate(completions):
        if not ended or verdict.status.failed:
            continue
        offsets = spans.token_offsets(tokenizer, special, sampled, text)
        if offsets is None:
            continue
        covered_phrases = spans.phrases_on_tokens(verdict, text, offsets, group=0)
        if covered_phrases is not None:
            tokens[row], phrases_of_row = covered_phrases
            phrases += phrases_of_row
    # pad the completions to one matrix, (B, T)
    lengths = np.array([len(sampled) for sampled in ids])
    longest = int(lengths.max())
    mask = np.arange(longest) < lengths[:, None]
    # credit less its baseline, in standard deviations, added to the scalars
    residuals = spans.residual_credit(phrases)
    credit, covered = spans.on_tokens(residuals, tokens, (len(ids), longest))
    std = credit_std(moment.item() for moment in credit_moments(credit, covered))
    scaled = scale_credit(credit, covered, std)
    advantages = add_centred(np.array(scalars, dtype=np.float64), scaled, mask, span_coef)
    rows = zip(advantages.tolist(), ids, strict=True)
    return [row[: len(sampled)] for row, sampled in rows]
