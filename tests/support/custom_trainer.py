"""A user's own trainer: twenty lines on stock TRL that know nothing of ours."""

from typing import Any

from trl import GRPOTrainer


class WarmUpTrainer(GRPOTrainer):
    """Advantages grow to their full size over the first `warm_up` steps."""

    def __init__(self, *args: Any, warm_up: int = 4, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.warm_up = warm_up

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        output = super()._generate_and_score_completions(inputs)
        size = min(1.0, (self.state.global_step + 1) / self.warm_up)
        output["advantages"] = size * output["advantages"]
        assert output["advantages"].shape == (len(inputs),)  # scalar: one number per completion
        self._metrics["train"]["warm_up"].append(size)
        return output
