"""Sets how long a rank waits for other ranks in a collective.

    wait_at_most(args.ddp_timeout)      # returns the seconds that the rank will wait

transformers passes `ddp_timeout` only to a process group of GPUs. On a CPU accelerate makes the
process group without this setting, and gloo waits for torch's default of 30 minutes. gloo accepts a
new timeout at any time, for all later collectives.

torch's `monitored_barrier` could name the rank that stalled. But it costs another collective in
each step, and cannot name a rank that stalls in another collective.
"""

import logging
from datetime import timedelta
from typing import Any

import torch.distributed as dist

log = logging.getLogger(__name__)


def wait_at_most(seconds: float) -> float:
    """Limits how long each later collective waits for other ranks. Returns the limit in seconds.

    Only gloo's limit is changed. NCCL has a limit from transformers, or from the code that made the
    process group. The function returns the process group's limit, or `seconds` if the limit is not
    known.
    """
    backend = _group_backend()
    if isinstance(backend, dist.ProcessGroupGloo):
        backend._set_default_timeout(timedelta(seconds=seconds))
    elif backend is not None and not _is_nccl(backend):
        log.warning(
            "ddp_timeout=%g may not hold: the backend %s does not say how long it waits.",
            seconds,
            dist.get_backend(),
        )
    waited = collective_timeout()
    if waited is None:
        return seconds
    return waited


def collective_timeout() -> float | None:
    """Returns how many seconds a collective waits for other ranks.

    The function returns None without a process group, or for a backend other than gloo and NCCL.
    """
    backend = _group_backend()
    if isinstance(backend, dist.ProcessGroupGloo) or _is_nccl(backend):
        waited: timedelta = backend.options._timeout  # torch has no public name for the timeout
        return waited.total_seconds()
    return None


def _group_backend() -> Any:
    """Returns the backend of the process group of all ranks, or None without a process group.

    If the group has backends for GPUs and CPUs, the function returns the backend for GPUs.
    """
    if not dist.is_available() or not dist.is_initialized():
        return None
    group: Any = dist.group.WORLD
    # a group may have a backend for each kind of device, such as gloo for CPUs and NCCL for GPUs
    devices = {device.type: device for device in group._device_types}
    first_device = group._device_types[0]
    return group._get_backend(devices.get("cuda", first_device))


def _is_nccl(backend: Any) -> bool:
    """Whether the backend is NCCL's. A torch without CUDA lacks the class ProcessGroupNCCL."""
    return dist.is_nccl_available() and isinstance(backend, dist.ProcessGroupNCCL)
