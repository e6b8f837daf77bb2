"""What binds a judge that is asked thousands of questions of one token: requests, and not the
model.

python -m experiments benchmark requests --pairs pairs.jsonl --json requests.json
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from spanreward.rewards.judges.encoding.prompt import shared_length

DESCRIPTION = """A model of one small layer, which has next to nothing to compute, is asked --count questions through a
vllm: judge, --rounds times. The questions share a text of --words words. What is left is the work on requests: encoding
them, and vLLM's own. With --pairs, SmolLM2 also answers --questions of PoSh's questions alone, and --together of them
in one request, as turns of one chat: ratings differ, because a question then sees those before it, and vLLM gives the
probabilities at several places (prompt_logprobs) to requests only that do not read its prefix cache, so that the shared
text is computed anew. Tokens are exact; seconds are this machine's."""
HIDDEN = 64
FILLER = "-"  # in place of the answers, which one request cannot know beforehand


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--count", type=int, default=2000, help="questions to the empty model (default 2000)"
    )
    parser.add_argument(
        "--words", type=int, default=400, help="of the text that they share (default 400)"
    )
    parser.add_argument("--rounds", type=int, default=3, help="default 3")
    parser.add_argument(
        "--pairs", type=Path, metavar="PAIRS.jsonl", help="completion and reference"
    )
    parser.add_argument(
        "--questions", type=int, default=150, help="of PoSh, to SmolLM2 (default 150)"
    )
    parser.add_argument(
        "--together", type=int, default=3, help="questions in one request (default 3)"
    )


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    numbers: dict[str, Any] = {
        "requests": empty_model(arguments.count, arguments.words, arguments.rounds)
    }
    if arguments.pairs is not None:
        numbers["together"] = together(arguments.pairs, arguments.questions, arguments.together)
    table = Table("", "number")
    for part, values in numbers.items():
        for name, value in values.items():
            table.add_row(f"{part}: {name}", str(round(value, 4)))
    Console().print(table)
    return numbers


def empty_model(count: int, words: int, rounds: int) -> dict[str, float]:
    from spanreward.rewards.judges.judge import Question
    from spanreward.rewards.judges.local.vllm_judge import VllmJudge

    text = "word " * words
    seconds, encoding = [], []
    with tempfile.TemporaryDirectory() as folder:
        save_model(folder)
        judge = VllmJudge(folder, min_mass=0.0)
        judge.start()
        with judge:
            for number in range(rounds + 1):
                contents = [
                    f"{text}Is there thing {i} of round {number}? Rate it." for i in range(count)
                ]
                questions = [
                    Question([{"role": "user", "content": content}]) for content in contents
                ]
                start = time.perf_counter()
                for question in judge.encoder.encode_ahead(questions, sys.maxsize):
                    judge.encoder.encode(question.messages)
                encoding.append(time.perf_counter() - start)
                start = time.perf_counter()
                judge.rate(questions)
                seconds.append(time.perf_counter() - start)
        judge.close()
    both = statistics.median(seconds[1:])  # the first round compiles
    return {
        "count": count,
        "a second": count / both,
        "share of encoding": statistics.median(encoding[1:]) / both,
    }


def save_model(folder: str) -> None:
    """Writes a Llama of one layer with SmolLM2's tokenizer."""
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    from spanreward.rewards.judges.model_files import model_folder

    tokenizer = AutoTokenizer.from_pretrained(model_folder("smollm2"))
    tokenizer.save_pretrained(folder)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=HIDDEN,
        intermediate_size=2 * HIDDEN,
        num_hidden_layers=1,
        num_attention_heads=1,
        num_key_value_heads=1,
        max_position_embeddings=4096,
    )
    LlamaForCausalLM(config).save_pretrained(folder)


def together(pairs: Path, count: int, size: int) -> dict[str, float]:
    """Ratings of `count` questions asked alone and `size` at a time: how far they differ, and
    tokens computed.
    """
    import numpy as np
    import torch
    from scipy import stats

    from experiments.benchmark.judge import posh_questions
    from experiments.benchmark.posh import content, read_pairs
    from spanreward.rewards.judges.encoding.chat import rating_from_logprobs
    from spanreward.rewards.judges.judge import RATING_SCALE, Failure
    from spanreward.rewards.judges.local.transformers_judge import TransformersJudge

    judge = TransformersJudge("smollm2", min_mass=0.0)
    contents = sorted(content(question) for question in posh_questions(read_pairs(pairs), count))
    chats = [
        chat for start in range(0, count, size) for chat in turns(contents[start : start + size])
    ]
    alone = [[{"role": "user", "content": one}] for one in contents]
    tokens = judge.encoder.token_ids_by_entry(RATING_SCALE)
    judge.start()
    found: list[list[float]] = []
    computed: list[int] = []
    for asked in (alone, chats):
        means = []
        for messages in asked:
            ids = torch.tensor([judge.encoder.encode(messages)])
            with torch.no_grad():
                values = judge._model(ids).logits[0, -1].log_softmax(-1).tolist()
            rating = rating_from_logprobs(dict(enumerate(values)), tokens, 0.0)
            if isinstance(rating, Failure):
                raise RuntimeError(rating.message)
            means.append(rating.mean)
        found.append(means)
    judge.close()
    last = [judge.encoder.encode(chats[end - 1]) for end in [*range(size, count, size), count]]
    computed = [uncached(sorted(judge.encoder.encode(one) for one in alone)), sum(map(len, last))]
    difference = np.abs(np.array(found[0]) - np.array(found[1]))
    return {
        "questions": count,
        "requests": len(last),
        "mean difference of ratings (1 to 5)": float(difference.mean()),
        "largest": float(difference.max()),
        "rank correlation": float(stats.spearmanr(*found).statistic),
        "tokens computed, alone and cached": computed[0],
        "tokens computed, together": computed[1],
    }


def turns(contents: Sequence[str]) -> list[list[dict[str, str]]]:
    """The chats that end with each question, where all are turns of one chat and the shared
    beginning is said once.
    """
    first = (
        contents[0][: shared_length([list(map(ord, one)) for one in contents])]
        if len(contents) > 1
        else ""
    )
    shared = first[: first.rfind("\n") + 1]
    chat: list[dict[str, str]] = []
    chats = []
    for number, one in enumerate(contents):
        chat = [*chat, {"role": "user", "content": one.removeprefix(shared) if number else one}]
        chats.append(chat)
        chat = [*chat, {"role": "assistant", "content": FILLER}]
    return chats


def uncached(prompts: Sequence[Sequence[int]]) -> int:
    """Tokens that sorted prompts make a model compute which keeps every beginning."""
    return len(prompts[0]) + sum(
        len(one) - shared_length([before, one]) for before, one in pairwise(prompts)
    )
