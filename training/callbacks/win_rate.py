"""WinRateCallback: logs during training how often the policy's answers beat an anchor's answers.

    # a reward that compares two answers, or any metric: then the higher score wins
    reward = PairwiseReward(judge, anchor="anchor")
    anchor = "sft/win_rate/step-000100.jsonl"
    trainer.add_callback(WinRateCallback(trainer, reward, rows, every=50, anchor=anchor))

The trainer may be an SFTTrainer, a GRPOTrainer or a SpanGRPOTrainer, so that win rates of different
trainers can be compared. An anchor is a text for each row, to which the policy's answer is
compared. The policy answers the held-out rows greedily, and each rank answers its share. It answers
before the first step, every `every` steps, and at the end. The keys `eval_win_rate...` are logged
to every tracker (docs/logged_keys.md). `spanreward compare` draws the win rates of several runs
together. The answers are kept in <output_dir>/win_rate/step-000050.jsonl. The file can be the
anchor of another run.
"""

import json
import logging
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
from accelerate.utils import gather_object
from transformers import Trainer, TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from trl import GRPOConfig
from trl.models import unwrap_model_for_generation

from spanreward.rewards.base.cost import WORDS_PER_TOKEN
from spanreward.rewards.base.verdict import Verdict
from spanreward.rewards.comparison.length import share_interval
from spanreward.rewards.comparison.resampling import ratio_interval
from spanreward.rewards.files.outputs import write_whole
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.reward.viewers import check_seen
from spanreward.rewards.rows.fingerprint import row_fingerprint
from spanreward.rewards.rows.messages import message_text
from spanreward.rewards.rows.sample import row_sample
from spanreward.training.evaluation.answer_scores.training_cost import CURVE_KEYS
from spanreward.training.evaluation.answers.greedy import BATCH_ROWS, continue_prompts
from spanreward.training.evaluation.answers.same_row import ROW_KEY
from spanreward.training.evaluation.answers.sides import read_answers
from spanreward.training.evaluation.answers.slicing import cluster_numbers, picture_identity
from spanreward.training.evaluation.statistics.estimates import in_clusters, signs_of_gaps
from spanreward.training.grpo.config import SpanGRPOConfig
from spanreward.training.grpo.recorder import Recorder

log = logging.getLogger(__name__)

WIN_RATE_KEY = CURVE_KEYS[1]
DEFAULT_ANSWER_TOKENS = 128


class WinRateCallback(TrainerCallback):
    """Logs how often the policy's answers win against an anchor's answers.

    Args:
        trainer: the trainer to which this callback is added.
        reward: the Reward that decides, maybe in a Recorder. PairwiseReward needs anchor="anchor".
            With another metric the answer with the higher score wins.
        rows: held-out rows. Each row has a `prompt` of messages, the columns that the reward reads,
            and maybe an `image`.
        every: number of steps between two evaluations.
        anchor: a JSONL file of answers, with "id" and "completion" in each line. A row without an
            id has its number, from 1, as id. None: the anchor is the policy's own answers before
            the first step.
        prompts: the greatest number of rows that are answered.
        max_tokens: the greatest number of tokens of an answer. None: the trainer's
            max_completion_length, or 128 for a trainer without it.
        stop: whether to end the training, with a checkpoint, if the policy loses: if the upper end
            of the win rate's interval is below .5.

    Attributes:
        stopped: the reason for which the callback ended the training, or "".

    Raises:
        ValueError: for unusable rows, an unusable reward, `every` below 1, or fewer than 2 rows.
    """

    def __init__(
        self,
        trainer: Trainer,
        reward: Reward | Recorder,
        rows: Iterable[Mapping[str, Any]],
        every: int = 50,
        anchor: str | Path | None = None,
        prompts: int = 64,
        max_tokens: int | None = None,
        stop: bool = False,
    ) -> None:
        if isinstance(reward, Recorder):
            reward = reward.reward
        self.trainer = trainer
        self.reward = reward
        self.every = every
        self.stop = stop
        self.rows: list[dict[str, Any]] = []
        for number, row in enumerate(islice(rows, prompts), start=1):
            self.rows.append(win_rate_row(row, number))
        longest = None
        if isinstance(trainer.args, GRPOConfig):
            longest = trainer.args.max_completion_length
        self.max_tokens = max_tokens or longest or DEFAULT_ANSWER_TOKENS
        # whether the reward itself compares an answer with the anchor
        self._reward_compares = "anchor" in reward.columns
        self.stopped = ""
        self._warned_of_unscored = False
        if every < 1 or len(self.rows) < 2:
            raise ValueError(
                f"a win rate needs every >= 1 and 2 rows or more, got {every} and {len(self.rows)}."
            )
        check_reward(reward, self.rows)
        self._fingerprints = [row_fingerprint(row) for row in self.rows]
        self.anchors: list[str] = []
        if anchor is not None:
            self.anchors = read_answers(str(anchor), self.rows)

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Prints what the win rate costs, and finds the anchors, with which later answers are
        compared: those of a file, or the policy's answers before the first step. A new run also
        measures the win rate before the first step.
        """
        count = len(self.rows)
        times = 1 + ceil(state.max_steps / self.every)
        if state.is_world_process_zero:
            questions = questions_of(self.reward, count, self.max_tokens)[1]
            print(
                f"win rate by {self.reward.__name__}: {times} times, first before the first step, "
                f"{count} prompts are answered with at most {self.max_tokens} tokens each, and "
                f"judged with {questions}.",
                file=sys.stderr,
                flush=True,
            )
        first_texts: list[str] = []  # the policy's answers before the first step of a new run
        if state.global_step == 0:
            first_texts = self._answer_rows(args, state)
        anchors = self.anchors or first_texts
        if not anchors:  # a resumed run reads the answers that the first run has written
            first_answers = Path(args.output_dir or ".", "win_rate", "step-000000.jsonl")
            anchors = read_answers(str(first_answers), self.rows)
        self._set_anchors(anchors)
        if first_texts:
            self._log_win_rate(first_texts, state, control)

    def _set_anchors(self, anchors: Sequence[str]) -> None:
        """Keeps the anchor of each row, and the score that each answer must exceed to win.

        A reward that compares gives each answer its chance to win, and .5 means a tie. With any
        other reward, an answer must score higher than the anchor, so the anchors are scored too.
        """
        anchored_rows = []
        for row, anchor in zip(self.rows, anchors, strict=True):
            anchored_rows.append({**row, "anchor": anchor})
        self.rows = anchored_rows
        self._scores_to_beat: float | np.ndarray = 0.5
        if not self._reward_compares:
            self._scores_to_beat = self._scores(anchors)

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        last = control.should_training_stop or state.global_step >= state.max_steps
        if last or state.global_step % self.every == 0:
            self._log_win_rate(self._answer_rows(args, state), state, control)

    def _answer_rows(self, args: TrainingArguments, state: TrainerState) -> list[str]:
        """Lets the policy answer all rows, writes the answers to a file, and returns them.

        Every rank must call this method, because each rank answers its share of the rows.
        """
        wrapped = self.trainer.model_wrapped
        reasoning_end = args.reasoning_end if isinstance(args, SpanGRPOConfig) else None
        rows = [self.rows[number] for number in self._row_numbers_of_rank()]
        processor = self.trainer.processing_class
        with unwrap_model_for_generation(wrapped, self.trainer.accelerator) as model:
            training = model.training
            written, _ = continue_prompts(
                model.eval(), processor, rows, self.max_tokens, reasoning_end=reasoning_end
            )
            model.train(training)  # restore the mode from before `eval`
        texts: list[str] = self._gathered(written)
        if state.is_world_process_zero:
            path = Path(args.output_dir or ".", "win_rate", f"step-{state.global_step:06d}.jsonl")
            try:
                self._write_answers(path, texts)
            except OSError as error:  # perhaps a full disk: the win rate is still logged
                log.warning("the answers of step %d are not kept: %s", state.global_step, error)
        return texts

    def _write_answers(self, path: Path, texts: Sequence[str]) -> None:
        """Writes the answers to all rows to a JSONL file, which can be the anchor of another run.
        Raises OSError if the file cannot be written.
        """
        lines = []
        for row, text, fingerprint in zip(self.rows, texts, self._fingerprints, strict=True):
            answer = {"id": row["id"], "completion": text, ROW_KEY: fingerprint}
            lines.append(json.dumps(answer) + "\n")
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, "".join(lines))

    def _scores(self, texts: Sequence[str]) -> np.ndarray:
        """Returns the reward's score of the answer to each row; NaN without a score.

        texts: the answers to all rows. Every rank must call this method.
        """
        samples = []
        for number in self._row_numbers_of_rank():
            samples.append(row_sample(self.rows[number], texts[number]))
        verdicts: list[Verdict] = []
        for start in range(0, len(samples), BATCH_ROWS):
            verdicts += self.reward.judge_samples(samples[start : start + BATCH_ROWS])
        unscored = [verdict for verdict in verdicts if verdict.score is None]
        if unscored and not self._warned_of_unscored:
            log.warning(
                "the win rate leaves out prompts without a score, of which the first says: %s",
                unscored[0].note or unscored[0].status.value,
            )
            self._warned_of_unscored = True
        scores = self._gathered([verdict.score for verdict in verdicts])
        return np.array(scores, dtype=float)  # None becomes NaN

    def _log_win_rate(
        self, texts: Sequence[str], state: TrainerState, control: TrainerControl
    ) -> None:
        """Logs the win rate of the policy's answers. Ends the training if `stop` is set and the
        policy loses.

        texts: the answers to all rows, in order.
        """
        gaps = self._scores(texts) - self._scores_to_beat  # above 0 for a win of the policy
        # put rows of one picture into one cluster, because their results are not independent
        clusters = cluster_numbers([picture_identity(row) for row in self.rows])
        logged = head_to_head(gaps, clusters)
        was_due = control.should_log
        # do not call TRL's `log`, which would also log and clear the means of other keys
        Trainer.log(self.trainer, dict(logged))
        control.should_log = was_due  # `Trainer.log` must not replace the log of this step
        # without an interval, 1 keeps the training going
        upper_end = logged.get(f"{WIN_RATE_KEY}_high", 1.0)
        may_stop = self.stop and state.global_step > 0  # never before the first step
        if may_stop and upper_end < 0.5:
            self.stopped = (
                f"the anchor wins: the policy's share is {logged[WIN_RATE_KEY]:.2f}, "
                f"{upper_end:.2f} at most."
            )
            control.should_training_stop = True
            control.should_save = True

    def _row_numbers_of_rank(self) -> list[int]:
        """Returns the numbers, from 0, of the rows that this rank answers.

        Every rank has equally many rows, because ranks with sharded weights must call the model
        together. If the rows cannot be split evenly, some rows are answered twice. Example: with 3
        rows on 2 ranks, rank 0 answers rows 0 and 2, and rank 1 answers rows 1 and 0.
        """
        ranks = self.trainer.accelerator.num_processes
        count = len(self.rows)
        first = self.trainer.accelerator.process_index
        rounded_up = ceil(count / ranks) * ranks
        return [number % count for number in range(first, rounded_up, ranks)]

    def _gathered(self, values: Sequence[Any]) -> list[Any]:
        """Returns the values of all rows, in order, gathered from all ranks.

        values: the values of this rank's rows, in the order of `_row_numbers_of_rank`.
        """
        numbered = list(zip(self._row_numbers_of_rank(), values, strict=True))
        value_of = dict(gather_object(numbered))  # keeps one value of a row that two ranks answered
        return [value_of[number] for number in range(len(self.rows))]


def check_reward(reward: Reward, rows: Sequence[Mapping[str, Any]]) -> None:
    """Raises ValueError for a reward that cannot judge the answers to these rows: it compares the
    texts of a batch, it needs a column that the rows lack, or its judge cannot see their pictures.
    """
    if reward.by_batch:
        raise ValueError(
            f'{reward.__name__} compares a batch\'s texts: give PairwiseReward anchor="anchor".'
        )
    # the columns that have a value in some row; every row will get an anchor
    present = {"anchor"}
    for row in rows:
        present.update(name for name, value in row.items() if value is not None)
    missing = reward.missing_column(present)
    if missing:
        raise reward.lacks(missing, "the win rate's rows", sorted(present))
    samples = [row_sample({**row, "anchor": "an answer"}) for row in rows]
    check_seen(reward, samples)


def questions_of(reward: Reward, prompts: int, tokens: int) -> tuple[int | None, str]:
    """Returns how many questions one evaluation asks the judges, as a number and in words.

    Example: `(640, "about 640 questions")`. If the reward does not know the number, the result is
    `(None, "an unknown number of questions")`.

    prompts: the number of rows of an evaluation. tokens: the greatest number of tokens of an
    answer.
    """
    cost = reward.cost(tokens * WORDS_PER_TOKEN, 1)
    if cost is None:
        return None, "an unknown number of questions"
    count = round(cost.questions * prompts)
    return count, f"about {count:,} questions"


def win_rate_row(row: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Returns the row with an id, its picture as `image`, and messages whose contents are texts.

    Raises ValueError for a row without a prompt of messages, or with several pictures.

    number: the number of the row, from 1. A row without an id gets its number as id.
    """
    pictures = list(row.get("images") or ())
    prompt = row.get("prompt")
    if not isinstance(prompt, list) or len(pictures) > 1:
        raise ValueError(
            f"row {number} needs a prompt of messages and at most one picture, got {prompt!r:.80}."
        )
    messages = []
    for message in prompt:
        messages.append({"role": message["role"], "content": message_text(message)})
    image = pictures[0] if pictures else None
    return {"id": str(number), "image": image, **row, "prompt": messages}


def head_to_head(gaps: np.ndarray, clusters: Sequence[int]) -> dict[str, float]:
    """Returns the win rate, the mean difference and their intervals, by the keys of the log.

    Example: for eight wins and two losses, "eval_win_rate" is .8. With too few prompts for an
    interval, the only key is that of the number of prompts.

    gaps: for each prompt the policy's score less the anchor's score; NaN if a score is missing.
    clusters: for each prompt the number of its cluster. The intervals draw the prompts of a cluster
    together.
    """
    wins = 0.5 * (1 + signs_of_gaps(gaps))  # 1 for a win, .5 for a tie, 0 for a loss
    compared = ~np.isnan(gaps)
    logged = {f"{WIN_RATE_KEY}_prompts": float(compared.sum())}
    logged |= mean_with_bounds(WIN_RATE_KEY, wins, clusters, share_interval)
    logged |= mean_with_bounds(f"{WIN_RATE_KEY}_difference", gaps, clusters, ratio_interval)
    return logged


def mean_with_bounds(
    name: str,
    values: np.ndarray,
    clusters: Sequence[int],
    interval: Callable[..., Any],
) -> dict[str, float]:
    """Returns the mean of the values and the ends of its interval, by the keys of the log; {} with
    too few prompts for an interval.

    Example: {"eval_win_rate": .8, "eval_win_rate_low": .5, "eval_win_rate_high": .9}.

    name: the key of the mean. values: one for each prompt, or NaN. clusters: for each prompt the
    number of its cluster. interval: a function that returns the bounds from the sums and counts of
    the clusters.
    """
    # `in_clusters` takes an array (seeds, prompts): here there is one training seed
    sums, counts = in_clusters(values[np.newaxis, :], clusters)
    bounds = interval(sums, counts)
    if bounds is None:
        return {}
    mean = float(sums.sum() / counts.sum())
    return {name: mean, f"{name}_low": bounds.low, f"{name}_high": bounds.high}
