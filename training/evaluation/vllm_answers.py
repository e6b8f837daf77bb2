"""What a policy writes, through vLLM: on a GPU many times faster than transformers.

texts, lengths = answers_by_vllm("outputs/qwen/dapo", rows, max_tokens=256)

The engine is the judges' (rewards/judges/local/vllm_judge.py). Its process ends before the answers are judged, so the
judges find the device free.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from spanreward.rewards.judges import Question, closing
from spanreward.rewards.judges.judge import Failure
from spanreward.rewards.judges.local.vllm_judge import VllmJudge
from spanreward.training.grpo.reasoning import answer_of

LONGEST = 16_384  # tokens of a prompt with its pictures and the answer
SHARE = 0.85  # of the device's memory; a sleeping judge keeps about 2 GB of it
DEADLINE = 6 * 3600.0  # seconds


def answers_by_vllm(
    path: str,
    rows: Sequence[Mapping[str, Any]],
    max_tokens: int,
    reasoning_end: str | None = None,
    memory: float | None = SHARE,
    dtype: str = "bfloat16",
) -> tuple[list[str], list[int]]:
    """Returns the policy's greedy answer to each row, and how many tokens it took (without the end token). rows: with
    an `id`, a `prompt` of messages, and an `image` or None. reasoning_end: see greedy_completions. memory, dtype: see
    VllmJudge. Raises RuntimeError for a row without an answer, and whatever keeps the engine from starting.
    """
    policy = VllmJudge(path, memory, max_model_len=LONGEST, dtype=dtype, deadline=DEADLINE)
    policy.encoder.thinking = True
    questions = [Question(row["prompt"], (row["image"],) if row.get("image") else ()) for row in rows]
    with policy, closing([policy]):  # it ends without falling asleep, which would copy its weights into main memory
        answers = policy.write_ids(questions, max_tokens)
    tokenizer = policy.encoder.tokenizer
    ends = {tokenizer.pad_token_id, tokenizer.eos_token_id}
    texts, lengths = [], []
    for row, answer in zip(rows, answers, strict=True):
        if isinstance(answer, Failure):
            raise RuntimeError(f"{path} wrote no answer to {row['id']} through vLLM: {answer.message}")
        texts.append(answer_of(tokenizer, answer, reasoning_end))
        lengths.append(sum(number not in ends for number in answer))
    return texts, lengths
