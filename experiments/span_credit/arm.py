"""An arm of the credit experiment: span_coef, and what is done to the spans."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Arm:
    """span_coef: 0 is the scalar alone. flipped, permuted: what is done to the truth's spans, see
    TruthReward.
    """

    span_coef: float
    flipped: float = 0.0
    permuted: bool = False

    @property
    def name(self) -> str:
        """As people and files call it: scalar, add_centred-0.5, add_centred-0.5-flipped-0.3."""
        noise = f"-flipped-{self.flipped:g}" if self.flipped else ""
        noise += "-permuted" if self.permuted else ""
        return f"add_centred-{self.span_coef:g}{noise}" if self.span_coef else "scalar"
