"""Does an answer keep to what people said of the picture? A referee of comparisons that asks no
judge.

    referees:
      - metric: experiments/said.py:Said

The column `context` holds what people said (experiments/captions.py). A noun, adjective or verb of
the answer is said if its lemma is in the context. The score, `all`, is 1 where all of them are
said, else 0. `words` is the share of them that is said. A synonym counts as not said.

    python -m experiments.said RUN/verdicts.jsonl ... --rows train.jsonl --steps 4 > labels.jsonl

marks these words in the first completions of trainings, for `spanreward labels spans`.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from spanreward import Reward, Sample, Span, Verdict
from spanreward.rewards.language.pipeline import load_pipeline
from spanreward.rewards.rows.tables import read_table

KINDS = {"NOUN", "PROPN", "ADJ", "VERB"}
Word = tuple[str, int, int]


class Said(Reward):
    columns = ("context",)
    main_parts = ("all", "words")

    def __init__(self, name: str = "said") -> None:
        super().__init__(name)

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        language = load_pipeline()
        texts = list(
            dict.fromkeys(text for one in samples for text in (one.completion, one.context or ""))
        )
        words: dict[str, list[Word]] = {}
        lemmas: dict[str, set[str]] = {}
        for text, doc in zip(texts, language.pipe(texts), strict=True):
            kept = [token for token in doc if token.pos_ in KINDS and token.is_alpha]
            words[text] = [
                (token.lemma_.lower(), token.idx, token.idx + len(token)) for token in kept
            ]
            lemmas[text] = {form.lower() for token in doc for form in (token.lemma_, token.text)}
        return [verdict(words[one.completion], lemmas[one.context or ""]) for one in samples]


def verdict(words: Sequence[Word], said: set[str]) -> Verdict:
    unsaid = [(start, end) for lemma, start, end in words if lemma not in said]
    spans = tuple(
        Span(start, end, 0.0, 0.0, "word", "not in context", at)
        for at, (start, end) in enumerate(unsaid)
    )
    share = 1 - len(unsaid) / len(words) if words else 1.0
    score = float(not unsaid)
    return Verdict(score, parts={"all": score, "words": share}, spans=spans)


def marked(
    lines: Sequence[Mapping[str, Any]], contexts: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Yields a labelled row for each line of verdicts. contexts: what people said, by prompt."""
    samples = [Sample("", line["completion"], context=contexts[line["prompt"]]) for line in lines]
    for line, found in zip(lines, Said().assess(samples), strict=True):
        kept = {name: line[name] for name in ("id", "completion", "reference")}
        yield kept | {"mistakes": [[span.start, span.end] for span in found.spans]}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("verdicts", nargs="+", type=Path)
    parser.add_argument("--rows", type=Path, required=True, help="rows with prompt and context")
    parser.add_argument("--steps", type=int, default=4, help="the first steps only (default 4)")
    arguments = parser.parse_args()
    contexts = {row["prompt"]: row["context"] for _, row in read_table(arguments.rows)}
    lines = [
        line
        for path in arguments.verdicts
        for _, line in read_table(path)
        if line["step"] <= arguments.steps
    ]
    for row in marked(lines, contexts):
        print(json.dumps(row))


if __name__ == "__main__":
    main()
