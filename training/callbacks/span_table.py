"""SpanTableCallback: a page, every so many steps, of completions with the words that the judge
blames.

    reward = Recorder(PoshReward(judge))
    GRPOTrainer(reward_funcs=[reward], callbacks=[SpanTableCallback([reward], every=50)], ...)

writes <output_dir>/spans/step-000050.html: the best and the worst completions of that step with
their pictures. Their words are coloured by the verdict's spans. Beside them are what every reward
function gave, with its weight, what the judge misses of the reference, the verdict's parts and the
advantage, and with span credit the text once more, coloured by what each token received. The page
needs no other file, and completions are escaped in it. W&B and trackio get it too, where report_to
has them; trackio also gets each of these completions as a trace, with its spans as metadata.
"""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import chain
from math import isnan
from operator import itemgetter
from pathlib import Path
from statistics import fmean
from typing import Any

from accelerate import PartialState
from accelerate.utils import gather_object
from PIL import Image
from transformers import TrainerControl, TrainerState, TrainingArguments
from trl import GRPOConfig

from spanreward.rewards.base.verdict import Sample, Verdict
from spanreward.rewards.text.filler import is_degenerate
from spanreward.training.callbacks.base import Watching, group_size
from spanreward.training.evaluation.page.render import write_rendered
from spanreward.training.grpo.recorder import Paid, Received, Recorder

log = logging.getLogger(__name__)

# of the best completions on a page, of the worst, and of those that are padded
MAX_ROWS_OF_KIND = 4
MAX_FAILED_ROWS = 2  # of those without a score
# the parts of a page, in its order
KINDS = ("degenerate", "best", "worst", "not judged")
Rewards = Sequence[float | None]  # of a batch's completions, None where a judge failed


@dataclass(frozen=True, slots=True)
class ShownRow:
    """One completion of the page.

    Args:
        kind: of KINDS, "" while none is chosen.
        sample: what was judged.
        verdicts: by the reward's name.
        reward: the weighted sum that TRL logs, None without a score and where a judge failed.
        lead: the reward less its group's mean.
        advantage: the completion's, None where the trainer does not say.
        tokens: what each received, () without span credit.
        paid: what the reward is the sum of.
    """

    kind: str
    sample: Sample
    verdicts: dict[str, Verdict]
    reward: float | None
    lead: float | None
    advantage: float | None
    tokens: Received = ()
    paid: Paid = field(default_factory=dict)

    @property
    def references(self) -> list[str]:
        """The references, first the one that the first verdict used."""
        first_verdict = next(iter(self.verdicts.values()))
        used = first_verdict.reference
        references = list(self.sample.references)
        if used < len(references):  # a sample may have no reference
            first = references.pop(used)
            references.insert(0, first)
        return references

    @property
    def image(self) -> Image.Image | None:
        """The first picture that is loaded, and not only named; None without one."""
        for image in self.sample.images:
            if isinstance(image, Image.Image):
                return image
        return None


class SpanTableCallback(Watching):
    """Writes pages of the best and worst completions with their words coloured.

    They are chosen from all ranks' last batch of training up to that step, of as many prompts as
    there are. First come those padded with words that say nothing. Rank 0 writes. A page that
    cannot be written, for example on a full disk, is one warning and does not end the training.

    Args:
        recorders: the rewards to show.
        every: number of steps between two pages. The last step has one too.

    Raises:
        ValueError: for `every` below 1, and for rewards that are not Recorders.
    """

    def __init__(self, recorders: Sequence[Recorder], every: int = 50) -> None:
        super().__init__(recorders)
        if every < 1:
            raise ValueError(f"every must be 1 step or more, got {every}.")
        self.every = every
        self._rows: list[ShownRow] = []
        self._failed = False

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        super().on_step_end(args, state, control)
        if self.fresh:  # else the step went on with an earlier batch, whose rows stay
            self._rows = recorded_rows(self.recorders, args)
        last = control.should_training_stop or state.global_step >= state.max_steps
        due = last or state.global_step % self.every == 0
        if not due or not self._rows:
            return
        # all ranks learn the rewards and choose the same rows by them, numbered over all ranks
        rank_rows = [(row.reward, is_degenerate(row.sample), row.paid) for row in self._rows]
        shares = gather_object([rank_rows])  # one for each rank
        rewards, padded, payments = zip(*chain.from_iterable(shares), strict=True)
        first = sum(map(len, shares[: PartialState().process_index]))
        group = group_size(args)
        on_page = page_rows(rewards, padded, group, MAX_ROWS_OF_KIND)
        # then each rank gives only its own chosen rows: pictures are large
        chosen = []  # with their place on the page
        for place, (kind, number) in enumerate(on_page):
            if first <= number < first + len(self._rows):
                lead = lead_of(number, rewards, group)
                row = replace(self._rows[number - first], kind=kind, lead=lead)
                chosen.append((place, row))
        chosen_of_ranks = sorted(gather_object(chosen), key=itemgetter(0))
        rows = [row for _, row in chosen_of_ranks]
        if not state.is_world_process_zero:
            return
        path = Path(args.output_dir or ".") / "spans" / f"step-{state.global_step:06d}.html"
        try:
            page = write_page(path, state.global_step, rows, rewards, payments)
            log_page(args, state.global_step, page, rows)
        except Exception as error:
            # only people read the page, and the other ranks would wait for this one
            if not self._failed:
                what = f"{type(error).__name__}: {error}"
                message = "the table of step %d could not be written, and the training goes on: %s"
                log.warning(message, state.global_step, what)
            self._failed = True


def recorded_rows(recorders: Sequence[Recorder], args: TrainingArguments) -> list[ShownRow]:
    """Returns every completion of the recorders' last batch, of this rank.

    All have judged the same completions. A trainer that does not say what it paid has paid by
    GRPOConfig's weights, if there are as many, else 1 each.
    """
    first = recorders[0]
    rows = []
    weights = args.reward_weights if isinstance(args, GRPOConfig) else None
    if not weights or len(weights) != len(recorders):
        weights = [1.0] * len(recorders)
    advantages: Sequence[float | None] = [None] * len(first.samples)
    if first.advantages:
        advantages = first.advantages
    for number, (sample, advantage) in enumerate(zip(first.samples, advantages, strict=True)):
        verdicts = {recorder.__name__: recorder.verdicts[number] for recorder in recorders}
        # what each reward function gave, and its weight
        payments = first.paid[number] if first.paid else weighted_scores(verdicts, weights)
        # their sum, as TRL takes it: what a function did not give adds nothing
        parts = []
        for value, weight in payments.values():
            if value is not None and not isnan(value):
                parts.append(value * weight)
        failed = any(verdict.status.failed for verdict in verdicts.values())
        reward = None
        if parts and not failed:
            reward = sum(parts)
        tokens = first.token_advantages.get(number, ())
        row = ShownRow(
            kind="",
            sample=sample,
            verdicts=verdicts,
            reward=reward,
            lead=None,
            advantage=advantage,
            tokens=tokens,
            paid=payments,
        )
        rows.append(row)
    return rows


def weighted_scores(verdicts: Mapping[str, Verdict], weights: Sequence[float]) -> Paid:
    """Returns by the reward's name its verdict's score and its weight. weights: in the same
    order.
    """
    payments: dict[str, tuple[float | None, float]] = {}
    for (name, verdict), weight in zip(verdicts.items(), weights, strict=True):
        payments[name] = (verdict.score, weight)
    return payments


def page_rows(
    rewards: Rewards, padded: Sequence[bool], group: int, most: int
) -> list[tuple[str, int]]:
    """Returns (kind, number) of each completion on the page, in its order.

    The best are of different prompts, and so are the worst; where there are fewer prompts, a
    prompt's second follows. No completion is on the page twice.

    rewards, padded: of all ranks. group: completions per prompt, which are neighbours, across ranks
    too. most: rows of a kind.
    """
    scores: dict[int, float] = {}  # by number, of those that could be judged
    missing = []
    for number, reward in enumerate(rewards):
        if reward is None:
            missing.append(number)
        else:
            scores[number] = reward
    # those padded with words that say nothing
    filled = []
    for number, is_padded in enumerate(padded):
        if is_padded and number in scores:
            filled.append(number)
    filled = filled[:most]
    # the best of the others, then the worst of what is left
    ordered = [number for number in scores if number not in filled]
    ordered.sort(key=scores.__getitem__, reverse=True)
    high = of_different_groups(ordered, group)[:most]
    rest = [number for number in reversed(ordered) if number not in high]
    low = of_different_groups(rest, group)[:most]
    chosen: list[tuple[str, int]] = []
    numbers_of_kinds = (filled, high, low, missing[:MAX_FAILED_ROWS])
    for kind, numbers in zip(KINDS, numbers_of_kinds, strict=True):
        chosen += [(kind, number) for number in numbers]
    return chosen


def lead_of(number: int, rewards: Rewards, group: int) -> float | None:
    """Returns a completion's reward less its group's mean; None without a reward or a group."""
    reward = rewards[number]
    if reward is None or group == 1:
        return None
    first = number // group * group  # of its group
    neighbours = rewards[first : first + group]
    of_group = [other for other in neighbours if other is not None]
    return reward - fmean(of_group)


def of_different_groups(ordered: Sequence[int], group: int) -> list[int]:
    """Returns the numbers with the first of each group before the second ones, and so on; else in
    their order.

    In groups of 2, the order 0 1 2 3 becomes 0 2 1 3.
    """
    seen: Counter[int] = Counter()  # by group
    turns = {}  # how many of its group come before a number
    for number in ordered:
        turns[number] = seen[number // group]
        seen[number // group] += 1
    return sorted(ordered, key=turns.__getitem__)  # equal turns keep their order


def write_page(
    path: Path, step: int, rows: Sequence[ShownRow], rewards: Rewards, paid: Sequence[Paid] = ()
) -> str:
    """Writes the page whole or not at all, and returns it.

    Raises OSError.

    rewards, paid: of the whole batch, of all ranks.
    """
    scores = [reward for reward in rewards if reward is not None]
    rows_of_kind = {}
    for kind in KINDS:
        rows_of_kind[kind] = [row for row in rows if row.kind == kind]
    return write_rendered(
        path,
        "spans.html.jinja",
        step=step,
        kinds=rows_of_kind,
        grouped=any(row.lead is not None for row in rows),
        credited=any(row.tokens for row in rows),
        count=len(rewards),
        failed=len(rewards) - len(scores),
        reward=fmean(scores) if scores else None,
        means=means_of(paid),
    )


def means_of(payments: Sequence[Paid]) -> dict[str, tuple[float | None, float]]:
    """Returns by reward function the mean of what it gave, None if it gave nothing, and its
    weight.
    """
    means: dict[str, tuple[float | None, float]] = {}
    if not payments:
        return means
    for name, (_, weight) in payments[0].items():
        defined = []
        for payments_of_row in payments:
            value, _ = payments_of_row[name]
            if value is not None and not isnan(value):
                defined.append(value)
        mean = fmean(defined) if defined else None
        means[name] = (mean, weight)
    return means


def log_page(args: TrainingArguments, step: int, page: str, rows: Sequence[ShownRow] = ()) -> None:
    """Logs the page as `spans` to the trackers in report_to that show HTML: the current W&B run,
    and trackio, which also gets each row as a trace that its dashboard searches.
    """
    for name in {"wandb", "trackio"}.intersection(args.report_to or ()):
        tracker = import_module(name)
        # without a current run W&B has nowhere to log to
        if name == "trackio" or tracker.run is not None:
            tracker.log({"spans": tracker.Html(page, inject=False), "train/global_step": step})
        if name == "trackio":
            for row in rows:
                trace = tracker.Trace(messages=messages_of(row), metadata=metadata_of(row))
                tracker.log({"completion": trace, "train/global_step": step})


def messages_of(row: ShownRow) -> list[dict[str, str]]:
    """Returns a row's prompt and completion as a chat."""
    return [
        {"role": "user", "content": row.sample.prompt},
        {"role": "assistant", "content": row.sample.completion},
    ]


def metadata_of(row: ShownRow) -> dict[str, Any]:
    """Returns what a trace says of a row beside its texts: plain data. A verdict's spans are places
    in the completion, in characters, with their ratings and credits.
    """
    verdicts = {name: verdict.to_dict() for name, verdict in row.verdicts.items()}
    return {
        "kind": row.kind,
        "id": row.sample.id,
        "reward": row.reward,
        "advantage": row.advantage,
        "verdicts": verdicts,
    }
