"""What a policy can write costs no more to parse than prose, and finding filler next to nothing.

python -m experiments benchmark parsing --pairs ../shared/data/bench_pairs.jsonl --json parsing.json
"""

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table
from transformers import AutoTokenizer

from spanreward.rewards.judges.smollm2 import smollm2_folder
from spanreward.rewards.language.parse import scene_graphs
from spanreward.rewards.posh.scores import stated_ranges
from spanreward.rewards.text.filler import find_filler
from spanreward.rewards.text.length import judged_length

DESCRIPTION = """Parses completions of --tokens tokens of SmolLM2's, each made of one piece over and over, and prose cut
from --pairs, in CPU seconds of one run: read the ratios, this machine's seconds are its own. `filler` is the time that
finding the filler of that prose takes, as a share of parsing it."""
PIECES = {
    **{sign: sign for sign in "!*\"'([)=$#_|,.-~"},
    **{f"{sign} with a space": f"{sign} " for sign in "!|,.1"},
    **{f"a{sign}": f"a{sign}" for sign in "-/.:!"},
    **{
        word: f"{word} "
        for word in ("a", "in", "cat", "red", "that", "very", "of the man", "cat and a")
    },
    **{sentence: f"{sentence} " for sentence in ("The cat.", "It is.", "A red cat.")},
    **{
        "line breaks": "\n",
        "letters": "abcdefghij",
        "digits": "1234567890",
        "addresses": "http://a.b/",
    },
    **{
        "emoji": "\N{GRINNING FACE}",
        "emoji apart": "\N{GRINNING FACE} ",
        "emoji and letters": "\N{GRINNING FACE}a",
    },
    **{
        "Chinese": "的是不了",
        "Arabic": "مرحبا ",
        "right-to-left marks": "\u200f",
        "marks": "a\u0301\u0302",
        "NUL": "\0",
    },
    **{
        "control tokens": "<|im_end|>",
        "placeholders": "{answer}",
        "dashes": "\u2014",
        "quotes": "\u201c",
    },
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--pairs", type=Path, required=True, help="JSONL whose `reference` texts are the prose"
    )
    parser.add_argument("--tokens", type=int, default=768, help="of a completion (default 768)")
    parser.add_argument("--count", type=int, default=8, help="completions of each kind (default 8)")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    if min(arguments.tokens, arguments.count) < 1:
        raise ValueError("--tokens and --count must be 1 or more")
    tokenizer: Any = AutoTokenizer.from_pretrained(smollm2_folder())
    lines = arguments.pairs.read_text(encoding="utf-8").splitlines()
    prose = " ".join(dict.fromkeys(json.loads(line)["reference"] for line in lines))
    ids = tokenizer(prose * (2 + arguments.tokens * 2 // len(prose)))["input_ids"]
    step = max(len(ids) - arguments.tokens, 1)
    texts = [
        tokenizer.decode(ids[start : start + arguments.tokens])
        for start in (number * 37 % step for number in range(arguments.count))
    ]
    scene_graphs(texts[:1])  # loads the pipeline
    base = seconds(texts)
    graphs = scene_graphs(texts)
    begun = time.process_time()
    for text, graph in zip(texts, graphs, strict=True):
        find_filler(text, text, stated_ranges(graph), graph.misplaced)
    filler = (time.process_time() - begun) / base
    ratios = {}
    for name, piece in track(PIECES.items(), "kinds", console=Console(stderr=True)):
        text = tokenizer.decode(
            tokenizer(piece * arguments.tokens * 2)["input_ids"][: arguments.tokens]
        )
        ratios[name] = seconds([f"{text}{number}" for number in range(arguments.count)]) / base
    table = Table("completion", "of the time of prose", title=f"Parsing {arguments.tokens} tokens")
    for name, ratio in sorted(ratios.items(), key=lambda pair: -pair[1])[:12]:
        table.add_row(name, f"{ratio:.2f}")
    Console(stderr=True).print(table)
    return {
        "tokens": arguments.tokens,
        "filler": filler,
        "ratios": ratios,
        "prose_seconds": base / arguments.count,
    }


def seconds(texts: Sequence[str]) -> float:
    begun = time.process_time()
    scene_graphs([text[: judged_length(text)] for text in texts])
    return time.process_time() - begun
