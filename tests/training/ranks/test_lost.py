"""What torch raises where another rank has ended or stalled, with two real processes and gloo."""

import os
import re
import signal
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import multiprocessing

from spanreward.training.ranks.lost import named_lost_rank, words_of_lost_rank
from spanreward.training.ranks.timeout import collective_timeout, wait_at_most
from spanreward.training.recipe_file import RecipeError

SECONDS = 2.0


def rank_that_waits(rank: int, folder: Path, ends: bool) -> None:
    """Rank 1 ends or stalls. Rank 0 leaves its last words in the folder."""
    dist.init_process_group(
        "gloo", init_method=f"file://{folder / 'store'}", rank=rank, world_size=2
    )
    before = collective_timeout()
    wait_at_most(SECONDS)
    dist.all_reduce(torch.ones(2))
    if rank == 1:
        if not ends:
            time.sleep(60)
        os.kill(os.getpid(), signal.SIGKILL)
    began = time.monotonic()
    try:
        with named_lost_rank():
            dist.all_reduce(torch.ones(2))
    except RecipeError as error:
        waited = time.monotonic() - began
        (folder / "words").write_text(f"{before} {collective_timeout()} {waited < 10} {error}")
    os._exit(0)


@pytest.mark.parametrize("ends", [True, False], ids=["ended", "stalled"])
def test_the_other_ranks_last_words_are_a_sentence(ends: bool, tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ranks: list[Any] = []
    for rank in (0, 1):
        ranks.append(context.Process(target=rank_that_waits, args=(rank, tmp_path, ends)))
    for process in ranks:
        process.start()
    ranks[0].join(120)
    for process in ranks:
        process.kill()
        process.join()
    happened = "has ended"
    if not ends:
        happened = r"has stalled: .* 2 s \(ddp_timeout\)"
    told = rf"1800\.0 2\.0 True rank 0 of 2 .* {happened}; .* --resume"
    assert re.match(told, (tmp_path / "words").read_text())


@pytest.mark.parametrize(
    ("error", "lost"),
    [
        (RuntimeError("[gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer"), True),
        (dist.DistBackendError("NCCL error: remote process exited or there was an error"), True),
        (dist.DistBackendError("Duplicate GPU detected: rank 0 and rank 1"), False),
        (dist.DistNetworkError("Connection was likely closed"), True),
        (OSError("Connection reset by peer"), False),
        (RuntimeError("CUDA out of memory"), False),
    ],
)
def test_errors_of_another_rank_and_of_this_one(error: Exception, lost: bool) -> None:
    assert bool(words_of_lost_rank(error)) == lost
    wrapped = ValueError("while saving")
    wrapped.__cause__ = error
    assert bool(words_of_lost_rank(wrapped)) == lost
    with pytest.raises(type(error)), named_lost_rank():  # without a process group no rank is lost
        raise error


def test_how_long_a_rank_waits_is_what_its_group_says(tmp_path: Path) -> None:
    """Gloo's own default, until it is told another; without a group what was asked."""
    assert (wait_at_most(7.0), collective_timeout()) == (7.0, None)
    store = f"file://{tmp_path / 'store'}"
    dist.init_process_group("gloo", init_method=store, rank=0, world_size=1)
    try:
        assert collective_timeout() == timedelta(minutes=30).total_seconds()
        assert wait_at_most(9.0) == collective_timeout() == 9.0
    finally:
        dist.destroy_process_group()
