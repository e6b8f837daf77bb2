"""SpanTableCallback: a page, every so many steps, of completions with the words that the judge blames.

    reward = Recorder(PoshReward(judge))
    GRPOTrainer(reward_funcs=[reward], callbacks=[SpanTableCallback([reward], every=50)], ...)

writes <output_dir>/spans/step-000050.html: the best and the worst completions of that step with their pictures. Their
words are coloured by the verdict's spans. Beside them are what the judge misses of the reference, the verdict's parts
and the advantage, and with span credit the text once more, coloured by what each token received. The page needs no
other file, and completions are escaped in it. W&B and trackio get it too, where report_to has them.
"""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from statistics import fmean
from typing import Any

from accelerate import PartialState
from accelerate.utils import gather_object
from PIL import Image
from transformers import TrainerControl, TrainerState, TrainingArguments

from spanreward.rewards.base.verdict import Sample, Verdict
from spanreward.rewards.text.filler import is_degenerate
from spanreward.training.callbacks.base import Watching, group_size
from spanreward.training.callbacks.span_trackers import send
from spanreward.training.evaluation.page.render import render
from spanreward.training.grpo.recorder import Received, Recorder
from spanreward.training.run_folder import write_whole

log = logging.getLogger(__name__)

FAILED = 2  # the most completions without a score that a page shows
KINDS = ("degenerate", "best", "worst", "not judged")
Rewards = Sequence[float | None]  # of a batch's completions, None where a judge failed


@dataclass(frozen=True, slots=True)
class Batch:
    """A rank's part of a batch. verdicts: per completion, by the reward's name. advantages: None where not known.
    tokens: what each token received, of the completions (by their index) that have span credit.
    """

    samples: list[Sample]
    verdicts: list[dict[str, Verdict]]
    advantages: list[float | None]
    tokens: dict[int, Received]

    def rewards(self) -> list[float | None]:
        """Returns each completion's mean score, unweighted; None without a score, or where a judge failed."""
        found: list[float | None] = []
        for of_row in self.verdicts:
            scores = [verdict.score for verdict in of_row.values() if verdict.score is not None]
            failed = any(verdict.status.failed for verdict in of_row.values())
            found.append(fmean(scores) if scores and not failed else None)
        return found


@dataclass(frozen=True, slots=True)
class ShownRow:
    """One completion on the page. kind: of KINDS. lead: the reward less its group's mean. tokens: see Batch."""

    kind: str
    sample: Sample
    verdicts: dict[str, Verdict]
    reward: float | None
    lead: float | None
    advantage: float | None
    tokens: Received = ()

    @property
    def references(self) -> list[str]:
        """The references, first the one that the first verdict used."""
        used = next(iter(self.verdicts.values())).reference
        references = list(self.sample.references)
        return references[used : used + 1] + references[:used] + references[used + 1 :]

    @property
    def image(self) -> Image.Image | None:
        return next((image for image in self.sample.images if isinstance(image, Image.Image)), None)


class SpanTableCallback(Watching):
    """Writes pages of the best and worst completions with their words coloured.

    They are chosen from all ranks' last batch of training up to that step, of as many prompts as there are. First come
    those padded with words that say nothing, at most `worst` of them. Rank 0 writes. A page that cannot be written,
    for example on a full disk, is one warning and does not end the training.

    Args:
        recorders: the rewards to show.
        every: number of steps between two pages. The last step has one too.
        folder: folder of the pages; None is <output_dir>/spans.
        best: number of completions, of different prompts where there are as many, with the highest mean of the rewards'
            scores.
        worst: number of completions with the lowest.

    Raises:
        ValueError: for `every` below 1, and for rewards that are not Recorders.
    """

    def __init__(
        self,
        recorders: Sequence[Recorder],
        every: int = 50,
        folder: str | Path | None = None,
        best: int = 4,
        worst: int = 4,
    ) -> None:
        super().__init__(recorders)
        if every < 1:
            raise ValueError(f"every must be 1 step or more, got {every}.")
        self.every = every
        self.folder = None if folder is None else Path(folder)
        self.best = best
        self.worst = worst
        self._batch: Batch | None = None
        self._failed = False

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        super().on_step_end(args, state, control)
        if self.fresh:
            self._batch = batch_of(self.recorders)
        last = control.should_training_stop or state.global_step >= state.max_steps
        if not (last or state.global_step % self.every == 0) or self._batch is None:
            return
        rewards: list[Rewards] = gather_object([self._batch.rewards()])
        padded: list[list[bool]] = gather_object([[is_degenerate(sample) for sample in self._batch.samples]])
        rank = PartialState().process_index
        rows: list[tuple[int, ShownRow]] = gather_object(
            choose(self._batch, rewards, rank, group_size(args), self.best, self.worst, padded)
        )
        if state.is_world_process_zero:
            folder = self.folder or Path(args.output_dir or ".") / "spans"
            ordered = [row for _, row in sorted(rows, key=itemgetter(0))]
            flat = [reward for of_rank in rewards for reward in of_rank]
            self._write(folder, state.global_step, ordered, flat, args)

    def _write(
        self, folder: Path, step: int, rows: Sequence[ShownRow], rewards: Rewards, args: TrainingArguments
    ) -> None:
        try:
            path = folder / f"step-{step:06d}.html"
            send(args, step, write_page(path, step, rows, rewards))
        except Exception as error:  # only people read the page, and the other ranks would wait for this one
            if not self._failed:
                what = f"{type(error).__name__}: {error}"
                log.warning("the table of step %d could not be written, and the training goes on: %s", step, what)
            self._failed = True


def batch_of(recorders: Sequence[Recorder]) -> Batch:
    """Returns the recorders' last batch. All have judged the same completions."""
    first = recorders[0]
    names = [recorder.__name__ for recorder in recorders]
    by_row = zip(*(recorder.verdicts for recorder in recorders), strict=True)
    return Batch(
        samples=first.samples,
        verdicts=[dict(zip(names, of_row, strict=True)) for of_row in by_row],
        advantages=[None] * len(first.samples) if first.advantages is None else list(first.advantages),
        tokens=first.token_advantages,
    )


def choose(
    batch: Batch,
    rewards: Sequence[Rewards],
    rank: int,
    group: int,
    best: int,
    worst: int,
    padded: Sequence[Sequence[bool]] = (),
) -> list[tuple[int, ShownRow]]:
    """Returns this rank's part of the page as (place on the page, row).

    The best are of different prompts, and so are the worst; where there are fewer prompts, a prompt's second follows.
    rewards, padded: of all ranks. group: completions per prompt, which are neighbours, across ranks too.
    """
    flat = [reward for of_rank in rewards for reward in of_rank]
    bad = [is_bad for of_rank in padded for is_bad in of_rank]
    filled = [i for i, is_bad in enumerate(bad) if is_bad and flat[i] is not None][:worst]
    ordered = [i for _, i in sorted((-r, i) for i, r in enumerate(flat) if r is not None and i not in filled)]
    high = of_different_groups(ordered, group)[:best]
    low = of_different_groups([i for i in reversed(ordered) if i not in high], group)[:worst]
    missing = [i for i, reward in enumerate(flat) if reward is None][:FAILED]
    places = [("degenerate", i) for i in filled] + [("best", i) for i in high]
    places += [("worst", i) for i in low] + [("not judged", i) for i in missing]
    begin = sum(len(of_rank) for of_rank in rewards[:rank])
    chosen = []
    for place, (kind, i) in enumerate(places):
        mine = i - begin
        if 0 <= mine < len(batch.samples):
            of_group = [reward for reward in flat[i // group * group :][:group] if reward is not None]
            reward = flat[i]
            lead = None if reward is None or group == 1 else reward - fmean(of_group)
            sample, verdicts = batch.samples[mine], batch.verdicts[mine]
            tokens = batch.tokens.get(mine, ())
            chosen.append((place, ShownRow(kind, sample, verdicts, reward, lead, batch.advantages[mine], tokens)))
    return chosen


def of_different_groups(ordered: Sequence[int], group: int) -> list[int]:
    """Returns the numbers with the first of each group before the second ones, and so on; else in their order."""
    seen: Counter[int] = Counter()
    turns = []
    for i in ordered:
        turns.append(seen[i // group])
        seen[i // group] += 1
    return [i for _, i in sorted(zip(turns, ordered, strict=True), key=itemgetter(0))]


def write_page(path: Path, step: int, rows: Sequence[ShownRow], rewards: Rewards) -> str:
    """Write the page whole or not at all, and return it. Raises OSError.

    rewards: of the whole batch.
    """
    given = [reward for reward in rewards if reward is not None]
    page = render(
        "spans.html.jinja",
        step=step,
        kinds={kind: [row for row in rows if row.kind == kind] for kind in KINDS},
        grouped=any(row.lead is not None for row in rows),
        credited=any(row.tokens for row in rows),
        count=len(rewards),
        failed=len(rewards) - len(given),
        reward=fmean(given) if given else None,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, page)
    return page
