"""Imitates another numerical environment (another CPU or GPU) by a small change of the starting
weights.
"""

import torch


def perturb(policy: torch.nn.Module, size: float) -> None:
    """Multiply every weight by 1 + size x a normal number, the same in every call."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in policy.parameters():
            weight.mul_(1 + size * torch.randn(weight.shape, generator=generator))
