"""SpanCredit: the step of SpanGRPOTrainer in which spans change the advantages token by token.

    trainer.span_credit.add(output, batch)      # output["advantages"]: (B,) becomes (B, T)

credit.py finds the tokens of a phrase and its baseline, span_rules.py adds credit to advantages.
Both know one batch. Here all ranks' completions are that batch: their phrases share one baseline,
and their tokens one standard deviation.
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
    """Adds the spans' credit of a trainer's recorders to its advantages, and logs `spans/...`.

    Args:
        trainer: a SpanGRPOTrainer.
    """

    def __init__(self, trainer: Any) -> None:
        self.trainer = trainer
        self._warned = False  # that no completion gets span credit

    def add(self, output: dict[str, Any], batch: Batch) -> None:
        """Replaces `output["advantages"]`, (B,), by advantages of tokens, (B, T).

        It keeps in `batch` where the tokens of its texts are. Every rank must call it, for it
        gathers phrases and moments.

        output: as TRL's `_generate_and_score_completions` returns it, of this rank.
        """
        mask = output["completion_mask"].bool()
        if "tool_mask" in output:  # what a tool returned was not sampled
            mask = mask & output["tool_mask"].bool()
        batch.offsets = self._offsets(output)
        weights = self.trainer._weights()
        metrics = self.trainer._mode_metrics()
        # the weighted sum over the rewards, each in standard deviations of its own credit
        total = torch.zeros(mask.shape, device=mask.device)
        any_covered = torch.zeros_like(mask)
        for recorder in self.trainer.recorders:
            values, covered = self._token_credit(recorder, batch, mask)
            # in float64, since the variance is a difference of two sums
            moments = torch.stack(credit_moments(values.double(), covered))
            moments = self.trainer.accelerator.reduce(moments, reduction="sum")
            std = credit_std(moments.tolist())
            if recorder.decides:  # with a weight of 0 it is only logged
                total += weights[recorder.__name__] * scale_credit(values, covered, std)
                any_covered |= covered
            metrics[f"spans/{recorder.__name__}/credit_std"].append(std)
        covered_fraction = any_covered.sum() / mask.sum().clamp(min=1)  # maybe nothing was sampled
        metrics["spans/covered_fraction"].append(covered_fraction.item())
        self._log_rows_without_credit(~any_covered.any(dim=1))
        coefficient = self.trainer.args.span_coef
        output["advantages"] = add_centred(output["advantages"], total, mask, coefficient)

    def _offsets(self, output: dict[str, Any]) -> dict[int, credit.Offsets]:
        """Returns by row the character offsets of the sampled tokens.

        Only rows that ended by themselves, and whose ids decode to the judged text, have them. Logs
        the fraction of rows that ended and do not line up.
        """
        tokenizer = self.trainer._tokenizer.backend_tokenizer
        special = credit.special_ids(tokenizer)
        samples = self.trainer.recorders[0].samples
        offsets: dict[int, credit.Offsets] = {}
        finished = 0
        for row, mask in enumerate(output["completion_mask"].bool()):
            ids = output["completion_ids"][row][mask].tolist()
            # one that was cut at the limit gets the scalar alone (docs/credit.md)
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
        """Returns each token's credit less its baseline, and which tokens a span covers; both
        (B, T), as `mask`, the sampled tokens.
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
        """Returns by row the tokens of this rank's phrases, and the phrases in the same order."""
        trainer = self.trainer
        # rows are numbered over all ranks, since a group's completions may lie on two of them
        first_row = trainer.accelerator.process_index * len(recorder.verdicts)
        tokens: dict[int, list[list[int]]] = {}
        phrases: list[credit.Phrase] = []
        for row, offsets in batch.offsets.items():
            if batch.failed[row]:  # by any judge, even where this recorder's answered
                continue
            text = recorder.samples[row].completion
            group = (first_row + row) // trainer._group_size
            covered = credit.phrases_on_tokens(recorder.verdicts[row], text, offsets, group)
            if covered is not None:
                tokens[row], phrases_of_row = covered
                phrases += phrases_of_row
        return tokens, phrases

    def _residuals(self, phrases: Sequence[credit.Phrase]) -> list[float]:
        """Returns the credit of this rank's phrases less the baseline over all ranks' phrases."""
        rank = self.trainer.accelerator.process_index
        phrases_of_ranks = gather_object([(rank, phrase) for phrase in phrases])
        residuals = credit.residual_credit([phrase for _, phrase in phrases_of_ranks])
        # this rank's, in the order of `phrases`, as gathering keeps each rank's order
        residuals_of_rank = []
        for (owner, _), residual in zip(phrases_of_ranks, residuals, strict=True):
            if owner == rank:
                residuals_of_rank.append(residual)
        return residuals_of_rank

    def _log_rows_without_credit(self, without: torch.Tensor) -> None:
        """Logs the fraction of rows without credit, and warns the first time that it is 1 on this
        rank.

        without: (B,), bool.
        """
        metrics = self.trainer._mode_metrics()
        fraction = without.float().mean().item()
        metrics["spans/rows_without_credit"].append(fraction)
        if fraction < 1.0 or self._warned:
            return
        self._warned = True
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
