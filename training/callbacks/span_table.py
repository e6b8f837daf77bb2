"""SpanTableCallback: writes HTML pages of completions with the words that the judge praises or
blames.

    reward = Recorder(PoshReward(judge))
    GRPOTrainer(reward_funcs=[reward], callbacks=[SpanTableCallback([reward], every=50)], ...)

writes <output_dir>/spans/step-000050.html with the best and the worst completions of that step and
their pictures. The words are coloured by the verdict's spans. For each completion the page also has
the rewards with their weights, the missed words of the reference, the verdict's parts, and the
advantage. With span credit the page repeats the text, coloured by the advantage of each token. The
page needs no other file, and its completions are escaped. W&B and trackio get the page too, if
report_to names them. Trackio also gets each of these completions as a trace, with the spans as
metadata.
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
from spanreward.training.grpo.recorder import Recorder, RewardsByFunction, TokenAdvantages
from spanreward.training.grpo.reward_functions import distinct_names

log = logging.getLogger(__name__)

# at most so many of the best, of the worst, and of the padded completions are on a page
MAX_ROWS_OF_KIND = 4
MAX_FAILED_ROWS = 2  # at most so many completions without a reward are on a page
# the parts of a page, in order
PAGE_PARTS = ("degenerate", "best", "worst", "not judged")
Rewards = Sequence[float | None]  # the reward of each completion; None without a reward


@dataclass(frozen=True, slots=True)
class ShownRow:
    """One completion of the page.

    Args:
        kind: an element of PAGE_PARTS; "" before the completion is chosen for the page.
        sample: the judged sample.
        verdicts: the verdict of each Reward, by the Reward's name.
        reward: the weighted sum of rewards that TRL logs. None if no reward function gave a value,
            or if the judge of a reward whose weight is not 0 failed.
        above_group: the reward less the mean reward of its group, such as -0.2; None before the
            completion is chosen, for a completion without a reward, and for a trainer without
            groups.
        advantage: the scalar advantage; None if the trainer does not pass it to the recorders.
        tokens: the advantage of each token, with its characters; () without span credit.
        paid: the reward and weight of each reward function, by the function's name.
    """

    kind: str
    sample: Sample
    verdicts: dict[str, Verdict]
    reward: float | None
    above_group: float | None
    advantage: float | None
    tokens: TokenAdvantages = ()
    paid: RewardsByFunction = field(default_factory=dict)

    @property
    def references(self) -> list[str]:
        """The references of the sample. The reference with which the first verdict has compared the
        completion comes first.
        """
        first_verdict = next(iter(self.verdicts.values()))
        references = list(self.sample.references)
        number = first_verdict.reference  # of the reference that was compared
        if number < len(references):  # False for a sample without references
            compared = references.pop(number)
            references.insert(0, compared)
        return references

    @property
    def image(self) -> Image.Image | None:
        """The first picture in memory, or None. A picture that is only a path does not count."""
        for image in self.sample.images:
            if isinstance(image, Image.Image):
                return image
        return None


class SpanTableCallback(Watching):
    """Writes pages of the best and worst completions with their words coloured.

    A page's completions are chosen from the last batch of training of all ranks, from as many
    prompts as possible. Completions padded with filler come first. Rank 0 writes the page. If a
    page cannot be written, for example on a full disk, a warning is logged once, and the training
    continues.

    Args:
        recorders: the rewards to show, as Recorders of the trainer.
        every: number of steps between two pages. The last step has a page too.

    Raises:
        ValueError: for `every` below 1, and for rewards that are not Recorders.
    """

    def __init__(self, recorders: Sequence[Recorder], every: int = 50) -> None:
        super().__init__(recorders)
        if every < 1:
            raise ValueError(f"every must be 1 step or more, got {every}.")
        self.every = every
        self._rows: list[ShownRow] = []
        self._warned_of_failure = False  # whether a page could not be written

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Writes a page after every `every` steps, and after the last step. All ranks send the
        numbers of their completions; rank 0 writes the page.
        """
        super().on_step_end(args, state, control)
        if self.fresh:  # a step without a new batch keeps the rows of the earlier batch
            self._rows = recorded_rows(self.recorders, args)
        last = control.should_training_stop or state.global_step >= state.max_steps
        due = last or state.global_step % self.every == 0
        if not due or not self._rows:
            return
        # gather (reward, padded with filler, rewards of each function) of all ranks' rows, so that
        # all ranks choose the same rows
        numbers_of_rank = [(row.reward, is_degenerate(row.sample), row.paid) for row in self._rows]
        numbers_of_ranks = gather_object([numbers_of_rank])  # one list for each rank
        rewards, padded, payments = zip(*chain.from_iterable(numbers_of_ranks), strict=True)
        # the number of this rank's first row, if rows are numbered over all ranks
        earlier_ranks = numbers_of_ranks[: PartialState().process_index]
        first_of_rank = sum(len(numbers) for numbers in earlier_ranks)
        rows = self._rows_of_page(rewards, padded, group_size(args), first_of_rank)
        if state.is_world_process_zero:
            self._write_and_log(args, state.global_step, rows, rewards, payments)

    def _write_and_log(
        self,
        args: TrainingArguments,
        step: int,
        rows: Sequence[ShownRow],
        rewards: Rewards,
        payments: Sequence[RewardsByFunction],
    ) -> None:
        """Writes and logs the page of a step. The first failure is logged as a warning.

        No error is raised: the other ranks would wait for this rank, and training needs no page.

        rows: the completions on the page. rewards, payments: of all completions of the batch.
        """
        path = Path(args.output_dir or ".") / "spans" / f"step-{step:06d}.html"
        try:
            page = write_page(path, step, rows, rewards, payments)
            log_page(args, step, page, rows)
        except Exception as error:
            if not self._warned_of_failure:
                what = f"{type(error).__name__}: {error}"
                message = "the table of step %d could not be written, and the training goes on: %s"
                log.warning(message, step, what)
            self._warned_of_failure = True

    def _rows_of_page(
        self,
        rewards: Rewards,
        padded: Sequence[bool],
        group: int,
        first_of_rank: int,
    ) -> list[ShownRow]:
        """Returns the rows of the page, in order. Every rank must call this method.

        Args:
            rewards: the rewards of all ranks' completions.
            padded: for each completion whether it is padded with filler.
            group: the number of completions of a prompt.
            first_of_rank: the number of this rank's first completion, in the order of `rewards`.
        """
        numbers_of_rank = range(first_of_rank, first_of_rank + len(self._rows))
        chosen = []  # this rank's chosen rows, each with its place on the page
        for place, (kind, number) in enumerate(page_rows(rewards, padded, group, MAX_ROWS_OF_KIND)):
            if number in numbers_of_rank:
                row = self._rows[number - first_of_rank]
                above_group = reward_above_group(number, rewards, group)
                chosen.append((place, replace(row, kind=kind, above_group=above_group)))
        # gather only the chosen rows, because pictures are large
        chosen_of_ranks = gather_object(chosen)
        chosen_of_ranks.sort(key=itemgetter(0))  # in the order of the places
        return [row for _, row in chosen_of_ranks]


def recorded_rows(recorders: Sequence[Recorder], args: TrainingArguments) -> list[ShownRow]:
    """Returns a row for each completion of this rank's last batch.

    All recorders have judged the same completions. SpanGRPOTrainer has given the recorders the paid
    rewards and their weights. TRL's own trainer gives none. Then the rewards are the verdicts'
    scores, and the weights are those of `weights_of_recorders`.

    If a judge failed on a completion, the completion has no reward. Only the judges of a recorder
    with weight 0 may fail, because such a recorder adds nothing to the reward.

    Two recorders with one name, which TRL's own trainer allows, have two names in the rows, such as
    "posh" and "posh_1".
    """
    names = distinct_names([recorder.__name__ for recorder in recorders])
    weights = weights_of_recorders(recorders, args)
    # the trainer gives every recorder the same advantages and rewards, so any recorder will do
    any_recorder = recorders[0]
    paid = any_recorder.paid
    # for each recorder, whether its weight is not 0, so that a failure of its judges counts
    if paid:  # the trainer is a SpanGRPOTrainer, which has set `decides`
        decides = [recorder.decides for recorder in recorders]
    else:
        decides = [weight != 0 for weight in weights]
    rows = []
    for number, sample in enumerate(any_recorder.samples):
        verdicts = {}
        for name, recorder in zip(names, recorders, strict=True):
            verdicts[name] = recorder.verdicts[number]
        payments = paid[number] if paid else weighted_scores(verdicts, weights)
        reward = None
        if not has_failed(list(verdicts.values()), decides):
            reward = logged_reward(payments)
        row = ShownRow(
            kind="",
            sample=sample,
            verdicts=verdicts,
            reward=reward,
            above_group=None,
            advantage=any_recorder.advantages[number] if any_recorder.advantages else None,
            tokens=any_recorder.token_advantages.get(number, ()),
            paid=payments,
        )
        rows.append(row)
    return rows


def has_failed(verdicts: Sequence[Verdict], decides: Sequence[bool]) -> bool:
    """Returns whether a judge failed on a completion, so that the completion has no reward.

    decides: for each verdict whether its failure counts; False for a reward of weight 0.
    """
    for verdict, counts in zip(verdicts, decides, strict=True):
        if counts and verdict.status.failed:
            return True
    return False


def weights_of_recorders(recorders: Sequence[Recorder], args: TrainingArguments) -> Sequence[float]:
    """Returns the weight of each recorder in the reward of TRL's own trainer.

    GRPOConfig's reward_weights has a weight for each reward function. If the recorders are the only
    reward functions, these are the recorders' weights. With more weights than recorders, it is
    unknown which weight is whose, and each recorder gets the weight 1. Without reward_weights, each
    recorder gets the weight 1 too, as in TRL.
    """
    weights = args.reward_weights if isinstance(args, GRPOConfig) else None
    if weights and len(weights) == len(recorders):
        return weights
    return [1.0] * len(recorders)


def logged_reward(payments: RewardsByFunction) -> float | None:
    """Returns a completion's sum of rewards times weights, as TRL logs it; None without any reward.

    A missing reward (None or NaN) adds nothing. Example: {"posh": (.4, 1), "length": (-.1, 2)}
    gives .4 * 1 - .1 * 2 = .2.

    The page shows what TRL has paid, so all reward functions count, even the punishment of length.
    A function of weight 0 adds 0. If only functions of weight 0 gave a reward, the sum is 0, as in
    TRL's log.

    `dynamic_sampling.reward_of` also sums a completion's rewards, and has another purpose: to find
    out whether the policy can learn from the verdicts. So `reward_of` reads only verdicts, and
    skips those of weight 0. If only these have a score, it returns None.
    """
    parts = []
    for value, weight in payments.values():
        if value is not None and not isnan(value):
            parts.append(value * weight)
    if not parts:
        return None
    return sum(parts)


def weighted_scores(verdicts: Mapping[str, Verdict], weights: Sequence[float]) -> RewardsByFunction:
    """Returns the score and the weight of each reward, by the reward's name.

    weights: the weights in the order of `verdicts`.
    """
    payments: dict[str, tuple[float | None, float]] = {}
    for (name, verdict), weight in zip(verdicts.items(), weights, strict=True):
        payments[name] = (verdict.score, weight)
    return payments


def page_rows(
    rewards: Rewards, padded: Sequence[bool], group: int, most: int
) -> list[tuple[str, int]]:
    """Returns the kind and the number of each completion on the page, in the order of the page.

    A number is an index in `rewards`. Example: [("best", 5), ("worst", 2), ("not judged", 0)]. The
    best completions are of different prompts, and so are the worst. With too few prompts, second
    completions of the prompts follow. No completion is on the page twice: padded completions with a
    reward are chosen first (kind "degenerate"), then the best of the others, then the worst of the
    rest.

    Args:
        rewards: the rewards of all ranks' completions.
        padded: for each completion whether it is padded with filler.
        group: the number of completions of a prompt, which follow each other.
        most: the greatest number of completions of a kind.
    """
    scores = {number: reward for number, reward in enumerate(rewards) if reward is not None}
    without_reward = [number for number in range(len(rewards)) if number not in scores]
    all_padded = [number for number, is_padded in enumerate(padded) if is_padded]
    chosen_padded = [number for number in all_padded if number in scores][:most]
    others = [number for number in scores if number not in chosen_padded]
    best_first = sorted(others, key=scores.__getitem__, reverse=True)
    best = of_different_groups(best_first, group)[:most]
    worst_first = [number for number in reversed(best_first) if number not in best]
    worst = of_different_groups(worst_first, group)[:most]
    numbers_of_kind = {
        "degenerate": chosen_padded,
        "best": best,
        "worst": worst,
        "not judged": without_reward[:MAX_FAILED_ROWS],
    }
    on_page: list[tuple[str, int]] = []
    for kind in PAGE_PARTS:
        on_page += [(kind, number) for number in numbers_of_kind[kind]]
    return on_page


def reward_above_group(number: int, rewards: Rewards, group: int) -> float | None:
    """Returns a completion's reward less the mean of its group; None without a reward or a group.

    Example: in a group with the rewards .1, .3 and .8, the third completion is .4 above its group.

    number: the completion's index in `rewards`. group: the number of completions of a prompt.
    """
    reward = rewards[number]
    if reward is None or group == 1:
        return None
    first = number // group * group  # the number of the group's first completion
    rewards_of_group = rewards[first : first + group]
    defined = [other for other in rewards_of_group if other is not None]
    return reward - fmean(defined)


def of_different_groups(ordered: Sequence[int], group: int) -> list[int]:
    """Returns the numbers reordered, so that the first few are of different groups.

    The first number of each group comes first, then the second number of each group, and so on.
    Otherwise the numbers keep their order. Example: in groups of 2, the order 0 1 2 3 becomes
    0 2 1 3, because 0 and 1 are one group.

    group: the number of completions of a group; number n is of the group n // group.
    """
    seen: Counter[int] = Counter()  # how many numbers of each group came so far
    rounds = {}  # for each number, how many numbers of its group come before it
    for number in ordered:
        rounds[number] = seen[number // group]
        seen[number // group] += 1
    return sorted(ordered, key=rounds.__getitem__)  # numbers of a round keep their order


def write_page(
    path: Path,
    step: int,
    rows: Sequence[ShownRow],
    rewards: Rewards,
    paid: Sequence[RewardsByFunction] = (),
) -> str:
    """Writes the page to `path`, whole or not at all, and returns the page's HTML.

    Raises OSError if the file cannot be written.

    rows: the completions on the page. rewards: the rewards of all completions of the batch, over
    all ranks. paid: for each of these completions the reward and the weight of each reward
    function; () leaves the means of the reward functions out.
    """
    scores = [reward for reward in rewards if reward is not None]
    rows_of_kind = {}
    for kind in PAGE_PARTS:
        rows_of_kind[kind] = [row for row in rows if row.kind == kind]
    # the page explains "above its group" and the tokens' advantages only if a row has them
    has_groups = any(row.above_group is not None for row in rows)
    has_token_advantages = any(row.tokens for row in rows)
    return write_rendered(
        path,
        "spans.html.jinja",
        step=step,
        kinds=rows_of_kind,
        has_groups=has_groups,
        has_token_advantages=has_token_advantages,
        count=len(rewards),
        failed=len(rewards) - len(scores),
        reward=fmean(scores) if scores else None,
        means=means_of(paid),
    )


def means_of(payments: Sequence[RewardsByFunction]) -> dict[str, tuple[float | None, float]]:
    """Returns the mean reward and the weight of each reward function, by the function's name.

    Example: {"posh": (0.4, 1.0)}. The mean is None if the function gave no reward.

    payments: for each completion, the reward and the weight of each function, by its name.
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


def log_page(
    args: TrainingArguments,
    step: int,
    page: str,
    rows: Sequence[ShownRow] = (),
) -> None:
    """Logs the page under the key `spans` to W&B and trackio, if report_to names them.

    W&B gets the page only if a W&B run is active. Trackio also gets each row as a trace, which
    trackio's dashboard can search.

    page: the page's HTML. rows: the completions on the page.
    """
    for name in {"wandb", "trackio"}.intersection(args.report_to or ()):
        tracker = import_module(name)
        # W&B can log only into an active run
        if name == "trackio" or tracker.run is not None:
            tracker.log({"spans": tracker.Html(page, inject=False), "train/global_step": step})
        if name == "trackio":
            for row in rows:
                trace = tracker.Trace(messages=messages_of(row), metadata=metadata_of(row))
                tracker.log({"completion": trace, "train/global_step": step})


def messages_of(row: ShownRow) -> list[dict[str, str]]:
    """Returns a row's prompt and completion as messages of a user and an assistant."""
    return [
        {"role": "user", "content": row.sample.prompt},
        {"role": "assistant", "content": row.sample.completion},
    ]


def metadata_of(row: ShownRow) -> dict[str, Any]:
    """Returns the metadata of a row's trace, as plain data.

    The offsets of a verdict's spans are characters of the completion.
    """
    verdicts = {name: verdict.to_dict() for name, verdict in row.verdicts.items()}
    return {
        "kind": row.kind,
        "id": row.sample.id,
        "reward": row.reward,
        "advantage": row.advantage,
        "verdicts": verdicts,
    }
