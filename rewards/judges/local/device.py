"""Which GPU is this rank's."""

import os

import torch


def rank_index() -> int:
    """Index of this rank's GPU among those that the process sees: all of the machine, or only its own, as SLURM and
    Kubernetes may give it. 0 without LOCAL_RANK, which torchrun and accelerate set, and without a GPU.
    """
    return int(os.environ.get("LOCAL_RANK", "0")) % max(1, torch.cuda.device_count())
