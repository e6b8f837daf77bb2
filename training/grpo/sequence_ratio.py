"""GSPO-token (Zheng et al., 2025, equation 14): one importance ratio for a sequence, and an advantage for each token.

TRL's `importance_sampling_level="sequence"` has one ratio s for all tokens of a sequence, whose gradient moves them all
alike. GSPO-token gives token t the ratio sg[s] p_t / sg[p_t]: its value is s, and its gradient is the token's own. With
one advantage for all tokens this is the gradient of the sequence's ratio.

TRL's loss at the level "token" takes exp(log p_t - old log p_t). So its ratio is GSPO-token's where the old
log-probabilities are sg[log p_t - log s].
"""

from typing import Any

import torch

from spanreward.training.grpo.resuming import ResumingTrainer


def old_logps_of_sequence(logps: torch.Tensor, old: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Returns old log-probabilities whose ratio to `logps` is one for a sequence; all (B, T), without gradient.

    The ratio is the geometric mean over the sequence's tokens (equation 7 of the same paper). mask: 1 for its tokens.
    """
    log_ratios = (logps - old) * mask
    tokens = mask.sum(-1, keepdim=True).clamp(min=1.0)
    log_ratio_of_sequence = log_ratios.sum(-1, keepdim=True) / tokens
    return (logps - log_ratio_of_sequence).detach()


class SequenceRatioTrainer(ResumingTrainer):
    """GRPOTrainer whose loss has GSPO-token's ratios where spans meet one ratio for a sequence."""

    _loss_inputs: dict[str, Any] | None = None  # of the loss that is being computed

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        one_ratio = self.args.importance_sampling_level == "sequence" and self.args.loss_type != "cispo"
        self.token_gradients = self.args.span_coef > 0 and one_ratio
        if self.token_gradients:  # for TRL's loss: the ratios come through the old log-probabilities
            self.importance_sampling_level = "token"

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> Any:
        self._loss_inputs = dict(inputs)  # a copy, because a batch's inputs serve several iterations
        try:
            return super()._compute_loss(model, self._loss_inputs)
        finally:
            self._loss_inputs = None

    def _get_per_token_logps_and_entropies(self, *args: Any, **kwargs: Any) -> Any:
        found = super()._get_per_token_logps_and_entropies(*args, **kwargs)
        inputs = self._loss_inputs
        if self.token_gradients and inputs is not None:
            logps, old = found[0], inputs.get("old_per_token_logps")
            old = logps.detach() if old is None else old
            inputs["old_per_token_logps"] = old_logps_of_sequence(logps, old, inputs["completion_mask"])
        return found
