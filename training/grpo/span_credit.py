"""SpanCredit: the part of a SpanGRPOTrainer step in which spans change the advantages token by
token.

    trainer.span_credit.add(output, batch)      # output["advantages"]: (B,) becomes (B, T)

credit.py finds the tokens and the baseline of each phrase, and span_rules.py adds the credit to the
advantages. These two modules work on one batch. SpanCredit makes the completions of all ranks one
batch. So the phrases of all ranks share one baseline, and the tokens of all ranks share one
standard deviation.
"""

import logging
from collections.abc import Sequence
from typing import Any

import torch
from accelerate.utils import gather_object

from spanreward.training.grpo import credit
from spanreward.training.grpo.batch import Batch
from spanreward.training.grpo.recorder import Recorder
from spanreward.training.grpo.span_rules import (
    add_centred,
    credit_moments,
    credit_std,
    scale_credit,
)

log = logging.getLogger(__name__)


class SpanCredit:
    """Adds the span credit of all recorders to the advantages, and logs the keys `spans/...`.

    Args:
        trainer: a SpanGRPOTrainer.
    """

    def __init__(self, trainer: Any) -> None:
        self.trainer = trainer
        self._warned_of_no_credit = False  # whether no completion of a step had span credit

    def add(self, output: dict[str, Any], batch: Batch) -> None:
        """Replaces `output["advantages"]`, (B,), by the advantages of the tokens, (B, T).

        A token's advantage is its completion's advantage, plus span_coef times the credit of the
        spans that cover the token. The credit of each reward is divided by its standard deviation,
        and the sum over the rewards is centred over the completion (`add_centred`).

        The method also sets `batch.offsets`. Every rank must call the method, because it gathers
        phrases and moments from all ranks.

        output: the dict that TRL's `_generate_and_score_completions` returns on this rank.
        """
        mask = output["completion_mask"].bool()
        if "tool_mask" in output:  # leave out the tokens of a tool's answer: they were not sampled
            mask = mask & output["tool_mask"].bool()
        batch.offsets = self._offsets(output)
        total, covered = self._weighted_credit(batch, mask)
        covered_fraction = covered.sum() / mask.sum().clamp(min=1)  # the mask may be empty
        metrics = self.trainer._mode_metrics()
        metrics["spans/covered_fraction"].append(covered_fraction.item())
        self._log_rows_without_credit(~covered.any(dim=1))
        coefficient = self.trainer.args.span_coef
        output["advantages"] = add_centred(output["advantages"], total, mask, coefficient)

    def _weighted_credit(
        self, batch: Batch, mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns the weighted sum of all rewards' credit for each token, and whether a span of a
        reward with a weight covers the token. Both have the shape (B, T) of `mask`.

        The credit of each reward is first divided by its standard deviation over all ranks, which
        is logged as `spans/NAME/credit_std`.

        mask: (B, T), True on the sampled tokens.
        """
        weights = self.trainer._weights()
        metrics = self.trainer._mode_metrics()
        total = torch.zeros(mask.shape, device=mask.device)
        any_covered = torch.zeros_like(mask)
        for recorder in self.trainer.recorders:
            values, covered = self._token_credit(recorder, batch, mask)
            # use float64, because the variance is a small difference of two large sums
            moments = torch.stack(credit_moments(values.double(), covered))
            moments = self.trainer.accelerator.reduce(moments, reduction="sum")
            std = credit_std(moments.tolist())
            if recorder.decides:  # the credit of a reward with weight 0 is only logged
                total += weights[recorder.__name__] * scale_credit(values, covered, std)
                any_covered |= covered
            metrics[f"spans/{recorder.__name__}/credit_std"].append(std)
        return total, any_covered

    def _offsets(self, output: dict[str, Any]) -> dict[int, credit.TokenOffsets]:
        """Returns by row the characters [start, end) of each sampled token.

        Two kinds of rows have no offsets, and so get no span credit: completions that were cut at
        the length limit, and completions whose ids do not decode to the judged text. The method
        logs the share of the second kind in all completions as `spans/unaligned_fraction`.
        """
        tokenizer = self.trainer._tokenizer.backend_tokenizer
        special = credit.special_ids(tokenizer)
        samples = self.trainer.recorders[0].samples
        offsets: dict[int, credit.TokenOffsets] = {}
        finished = 0
        for row, mask in enumerate(output["completion_mask"].bool()):
            ids = output["completion_ids"][row][mask].tolist()
            # skip a completion that was cut at the length limit
            if not ids or ids[-1] not in self.trainer.eos_token_ids:
                continue
            finished += 1
            offsets_of_row = credit.token_offsets(tokenizer, special, ids, samples[row].completion)
            if offsets_of_row is not None:
                offsets[row] = offsets_of_row
        unaligned_fraction = (finished - len(offsets)) / len(output["completion_mask"])
        self.trainer._mode_metrics()["spans/unaligned_fraction"].append(unaligned_fraction)
        return offsets

    def _token_credit(
        self, recorder: Recorder, batch: Batch, mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns the credit of each token less its baseline, and whether a span covers the token.

        Both tensors have the shape (B, T) of `mask`.

        mask: (B, T), True on the sampled tokens.
        """
        tokens, phrases = self._phrases(recorder, batch)
        residuals = self._residuals(phrases)
        rows, length = mask.shape
        values, covered = credit.on_tokens(residuals, tokens, (rows, length))
        values_tensor = torch.from_numpy(values).float().to(mask.device)
        covered_tensor = torch.from_numpy(covered).to(mask.device)
        return values_tensor, covered_tensor & mask

    def _phrases(
        self, recorder: Recorder, batch: Batch
    ) -> tuple[dict[int, list[list[int]]], list[credit.Phrase]]:
        """Returns by row the token indices of each phrase, and the phrases in the same order.

        The rows and phrases are those of this rank.
        """
        trainer = self.trainer
        # number the rows over all ranks, because a group's completions may be on two ranks
        first_row = trainer.accelerator.process_index * len(recorder.verdicts)
        tokens: dict[int, list[list[int]]] = {}
        phrases: list[credit.Phrase] = []
        for row, offsets in batch.offsets.items():
            if batch.failed[row]:  # any judge failed on the row, maybe the judge of another reward
                continue
            text = recorder.samples[row].completion
            group = (first_row + row) // trainer._group_size
            covered = credit.phrases_on_tokens(recorder.verdicts[row], text, offsets, group)
            if covered is not None:
                tokens[row], phrases_of_row = covered
                phrases += phrases_of_row
        return tokens, phrases

    def _residuals(self, phrases: Sequence[credit.Phrase]) -> list[float]:
        """Returns for each phrase of this rank the credit less the baseline over all ranks."""
        rank = self.trainer.accelerator.process_index
        phrases_of_ranks = gather_object([(rank, phrase) for phrase in phrases])
        residuals = credit.residual_credit([phrase for _, phrase in phrases_of_ranks])
        # keep the residuals of this rank's phrases; gathering keeps their order
        residuals_of_rank = []
        for (rank_of_phrase, _), residual in zip(phrases_of_ranks, residuals, strict=True):
            if rank_of_phrase == rank:
                residuals_of_rank.append(residual)
        return residuals_of_rank

    def _log_rows_without_credit(self, has_no_credit: torch.Tensor) -> None:
        """Logs the fraction of this rank's rows without credit. Warns of the cause the first time
        that no row has credit.

        has_no_credit: (B,), bool, True for a row without credit.
        """
        metrics = self.trainer._mode_metrics()
        fraction = has_no_credit.float().mean().item()
        metrics["spans/rows_without_credit"].append(fraction)
        if fraction < 1.0 or self._warned_of_no_credit:
            return
        self._warned_of_no_credit = True
        if metrics["spans/unaligned_fraction"][-1] == 1.0:
            cause = (
                "no text lines up with its tokens, as where a response_template takes the "
                "reasoning out of it"
            )
        else:
            cause = (
                f"each was cut at {self.trainer.max_completion_length} tokens, failed to be "
                "judged, or has too few spans"
            )
        log.warning(
            "span_coef is %g, and no completion of this step gets span credit: %s. Advantages are "
            "the scalar's.",
            self.trainer.args.span_coef,
            cause,
        )
