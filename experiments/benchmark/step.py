"""What spanreward's own work in a step of PoSh costs, beside a judge that answers at once.

python -m experiments benchmark step --pairs pairs.jsonl --json step.json
"""

import argparse
import gc
import hashlib
import json
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from experiments.benchmark.posh import read_pairs
from spanreward.rewards import PoshReward, Sample
from spanreward.rewards.judges.encoding.chat import ChatEncoder
from spanreward.rewards.judges.encoding.prompt import encode_batch
from spanreward.rewards.judges.judge import Judge, Question, Rating, rating_of
from spanreward.rewards.judges.model_files import model_folder
from spanreward.rewards.judges.question import question_keys
from spanreward.rewards.language.parse import language_of, scene_graphs
from spanreward.rewards.reward.answer_cache import AnswerCache

DESCRIPTION = """PoSh over the first pairs of a file as one step, in CPU seconds of this process; read the ratios of one run.
The judge rates each component as plainly there, so that every question is asked. A pair is a JSON object with
`completion` and `reference`. Prints JSON:

questions        of the step, and how many a completion has
spacy            the parser's own CPU seconds over the same texts, each once
parse            graphs of the completions and references
ask              questions, keys, verdicts
keys             microseconds to hash a question anew
encode           microseconds to turn a question into a prompt of token ids
json             microseconds to write these ids for a server
match            PoSh as a whole with the judge `match`, which compares words
kept_bytes       what the questions keep in memory
hashes           of all token ids, and of all scores, spans and notes: equal for equal results"""
CONTEXT = 32_768  # tokens of a judge
T = TypeVar("T")


class PlainJudge(Judge):
    """A judge that answers at once: all is plainly there. It keeps its questions."""

    name = "plain"
    sees_pictures = False

    def __init__(self) -> None:
        self.asked: list[Question] = []

    def rate_each(self, questions: Sequence[Question], scale: Sequence[str]) -> list[Rating]:
        self.asked += questions
        rating = rating_of(float(scale[-1]), scale)
        return [rating] * len(questions)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pairs", required=True, type=Path, metavar="PAIRS.jsonl")
    parser.add_argument(
        "--completions", type=int, default=64, help="how many of the pairs (default 64)"
    )
    parser.add_argument(
        "--words",
        type=int,
        help="of each text, made of the file's texts one after another; default: as they are",
    )
    parser.add_argument(
        "--tokens", default="smollm2", metavar="MODEL", help="whose tokenizer (default smollm2)"
    )


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    from transformers import AutoTokenizer

    for value in (arguments.completions, arguments.words):
        if value is not None and value < 1:
            raise ValueError("--completions and --words must be 1 or more")
    pairs = read_pairs(arguments.pairs)
    if arguments.words is not None:
        pairs = pairs_of_length(pairs, arguments.words)
    pairs = pairs[: arguments.completions]
    samples = [Sample("", completion, references=(reference,)) for completion, reference in pairs]
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    encoder = ChatEncoder(AutoTokenizer.from_pretrained(model_folder(arguments.tokens)))
    warm_up = Question([{"role": "user", "content": "A kite.\n\nIs it?"}], description=(0, 7))
    encoder.fit(warm_up, CONTEXT)
    scene_graphs(["A warm-up."])

    gc.collect()
    gc.freeze()  # as `spanreward train` does
    judge = PlainJudge()
    reward = PoshReward(judge)
    spacy, _ = cpu_seconds(lambda: list(language_of(None).pipe(texts)))
    parse, (rows, parsed_by) = cpu_seconds(lambda: reward._parse(samples))
    ask, verdicts = cpu_seconds(lambda: reward.assess_rows(rows, parsed_by, AnswerCache()))
    questions = judge.asked
    keys, _ = cpu_seconds(lambda: question_keys([anew(question) for question in questions]))
    encode, batch = cpu_seconds(
        lambda: encode_batch(encoder.encode_ahead(questions, CONTEXT), encoder.prompt, CONTEXT)
    )
    match, _ = cpu_seconds(lambda: PoshReward("match").assess(samples))
    ids = [list(prompt.ids) for prompt in batch.inputs]
    as_json, _ = cpu_seconds(lambda: [json.dumps({"prompt": of_one}) for of_one in ids])
    found = [[verdict.to_dict() for verdict in verdicts], batch.cuts]
    return {
        "completions": len(pairs),
        "words": {
            "completion": words_each([completion for completion, _ in pairs]),
            "reference": words_each([reference for _, reference in pairs]),
        },
        "questions": len(questions),
        "questions_each": len(questions) / len(pairs),
        "tokens_each": sum(map(len, ids)) / len(ids),
        "seconds": {"spacy": spacy, "parse": parse, "ask": ask, "encode": encode, "match": match},
        "microseconds_a_question": {
            "ask": ask / len(questions) * 1e6,
            "keys": keys / len(questions) * 1e6,
            "encode": encode / len(questions) * 1e6,
            "json": as_json / len(questions) * 1e6,
        },
        "kept_bytes_a_question": kept_bytes(rows[:8]),
        "hashes": {"ids": digest(ids), "verdicts": digest(found)},
    }


def pairs_of_length(pairs: Sequence[tuple[str, str]], words: int) -> list[tuple[str, str]]:
    """Returns as many pairs whose texts have this many words: each text and those of the next
    pairs.
    """
    longer: list[tuple[str, str]] = []
    for number in range(len(pairs)):
        in_turn = [*pairs[number:], *pairs[:number]]
        texts: list[str] = []
        for side in (0, 1):
            together: list[str] = []
            for pair in in_turn:
                if len(together) < words:
                    together += pair[side].split()
            texts.append(" ".join(together[:words]))
        longer.append((texts[0], texts[1]))
    return longer


def words_each(texts: Sequence[str]) -> float:
    return sum(len(text.split()) for text in texts) / len(texts)


def anew(question: Question) -> Question:
    """Returns the question without its key."""
    return Question(
        question.messages, question.images, question.probe, question.description, question.top
    )


def kept_bytes(rows: Sequence[Any]) -> float:
    """Returns how many bytes of memory a question of these rows keeps, with its share of texts."""
    judge = PlainJudge()
    reward = PoshReward(judge)
    tracemalloc.start()
    reward.assess_rows(rows, "", AnswerCache())
    before = tracemalloc.get_traced_memory()[0]
    count = len(judge.asked)
    judge.asked.clear()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return (before - after) / count


def cpu_seconds(work: Callable[[], T]) -> tuple[float, T]:
    """Returns the CPU seconds of all threads that the work took, and its result."""
    begun = time.process_time()
    result = work()
    return time.process_time() - begun, result


def digest(found: Any) -> str:
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()[:16]
