"""How long a rank waits for another one.

    wait_at_most(args.ddp_timeout)      # and no longer, on a CPU too; returns what holds

transformers gives `ddp_timeout` to the process group of a GPU alone. On a CPU accelerate makes the
group without it, and gloo waits torch's 30 minutes. gloo takes a new timeout at any time, for what
it does from then on. torch's `monitored_barrier` would name the rank that stalled. It would cost a
collective a step, and a rank may stall at any of the others.
"""

import logging
from datetime import timedelta
from typing import Any

import torch.distributed as dist

log = logging.getLogger(__name__)


def wait_at_most(seconds: float) -> float:
    """Has every collective from now on wait for the other ranks at most so long. Returns the
    seconds that the process group says it waits, `seconds` where there is none.

    Only gloo is set. NCCL has got its timeout from transformers, or from whoever made the group.
    """
    backend = _backend()
    if isinstance(backend, dist.ProcessGroupGloo):
        backend._set_default_timeout(timedelta(seconds=seconds))
    elif backend is not None and not _is_nccl(backend):
        log.warning(
            "ddp_timeout=%g may not hold: the backend %s does not say how long it waits.",
            seconds,
            dist.get_backend(),
        )
    waited = timeout()
    if waited is None:
        return seconds
    return waited


def timeout() -> float | None:
    """Returns the seconds that a collective waits for the other ranks, or None where there are no
    other ranks or the backend does not say.
    """
    backend = _backend()
    if isinstance(backend, dist.ProcessGroupGloo) or _is_nccl(backend):
        waited: timedelta = backend.options._timeout  # torch has no public name for it
        return waited.total_seconds()
    return None


def _backend() -> Any:
    """Returns what carries the collectives of all ranks, a GPU's where there are both; None where
    there is no process group.
    """
    if not dist.is_available() or not dist.is_initialized():
        return None
    group: Any = dist.group.WORLD
    # a group may have a backend for each kind of device, as gloo for CPUs beside NCCL
    devices = {device.type: device for device in group._device_types}
    first_device = group._device_types[0]
    return group._get_backend(devices.get("cuda", first_device))


def _is_nccl(backend: Any) -> bool:
    """Whether it is NCCL's backend, of which a torch for CPUs has no class."""
    return dist.is_nccl_available() and isinstance(backend, dist.ProcessGroupNCCL)
