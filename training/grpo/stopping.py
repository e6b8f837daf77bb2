"""Ends the run of a SpanGRPOTrainer if a step can teach nothing. All ranks end with one sentence.

    stop_when_judges_fail(recorders, fraction=0.7, max_fraction=0.5)       # raises JudgeFailure
    stop_when_a_rank_is_silent(recorders, silence, silent_of_all_ranks)    # may raise JudgeFailure
    stop_when_nothing_is_scored(recorders, scores)                         # may raise NothingScored

Every rank must call these functions with the same numbers of all ranks. So all ranks raise the same
message, and no rank waits for a rank that has ended.
"""

from collections.abc import Sequence

import torch
from accelerate import PartialState
from accelerate.utils import gather_object

from spanreward.training.grpo.recorder import Recorder
from spanreward.training.ranks.silent import MAX_SILENT_STEPS, SilentJudges


class JudgeFailure(RuntimeError):
    """Judges failed on too many completions of a step, or answered nothing on one rank for several
    steps. Every rank raises the same message, with the first reason.
    """


class NothingScored(RuntimeError):
    """No completion of a step has a score. Every rank raises the same message, with the cause."""


def stop_when_judges_fail(
    recorders: Sequence[Recorder], fraction: float, max_fraction: float
) -> None:
    """Raises JudgeFailure, with the first reason, if judges failed on too many completions.

    Args:
        recorders: this rank's reward functions that wrap a Reward, with the verdicts of the step.
            Those with weight 0 do not decide, and give no reason.
        fraction: the fraction of all ranks' completions on which a judge failed.
        max_fraction: the highest fraction that is allowed (max_failed_fraction).
    """
    if fraction <= max_fraction:
        return
    notes: list[str] = []
    for recorder in recorders:
        if not recorder.decides:
            continue
        notes += [verdict.note for verdict in recorder.verdicts if verdict.status.failed]
    # a rank without a failure sends no note
    first_note = [(PartialState().process_index, note) for note in notes[:1]]
    rank, note = gather_object(first_note)[0]
    raise JudgeFailure(
        f"{fraction:.0%} of this step's completions could not be judged (max_failed_fraction "
        f"is {max_fraction:.0%}); the first reason, on rank {rank}: {note}"
    )


def stop_when_a_rank_is_silent(
    recorders: Sequence[Recorder], silence: SilentJudges, silent: torch.Tensor
) -> None:
    """Raises JudgeFailure if a judge answered nothing on one rank for MAX_SILENT_STEPS steps in a
    row.

    Args:
        recorders: this rank's reward functions that wrap a Reward.
        silence: this rank's counts of silent steps, to which this step is added.
        silent: (ranks, recorders), bool, the property `silent` of every rank for this step.
    """
    lasting = silence.lasting(silent)
    if lasting is None:
        return
    rank, number = lasting
    recorder = recorders[number]
    judges = ", ".join(map(repr, recorder.reward.judges))
    reasons_of_ranks = gather_object([silence.reasons[number]])
    raise JudgeFailure(
        f"rank {rank} got no answer from the judge {judges} of {recorder.__name__} in "
        f"{MAX_SILENT_STEPS} steps in a row, so that its completions teach nothing; the first "
        f"reason: {reasons_of_ranks[rank]}"
    )


def stop_when_nothing_is_scored(recorders: Sequence[Recorder], scores: torch.Tensor) -> None:
    """Raises NothingScored if no completion has a score.

    The message gives the reasons of the rewards whose weight is not 0 (`Recorder.decides`). Such a
    reason names, for example, the empty column of the dataset.

    recorders: this rank's reward functions that wrap a Reward, with the verdicts of the step.
    scores: (rows of all ranks, n), a column for each reward function whose weight is not 0; NaN for
    a missing score.
    """
    has_no_functions = scores.shape[1] == 0  # no reward function has a weight
    if has_no_functions or not scores.isnan().all():
        return
    deciding = [recorder for recorder in recorders if recorder.decides]
    reasons = [recorder.reward.unscored(recorder.verdicts) for recorder in deciding]
    # take the reason of the first rank, so that all ranks raise with the same message
    first_rank_reason = gather_object(["; ".join(reasons)])[0]
    raise NothingScored(
        f"none of this step's {len(scores)} completions has a score, so there is nothing to "
        f"learn: {first_rank_reason}; fill the column, or leave out the rows without it."
    )
