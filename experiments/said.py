"""Does an answer keep to what people said of the picture? A referee of comparisons that asks no judge.

    referees:
      - metric: experiments/said.py:Said

The column `context` holds what people said (experiments/captions.py). A noun, adjective or verb of the answer is said
if its lemma is in the context. The score, `all`, is 1 where all of them are said, else 0. `words` is the share of them
that is said. A synonym counts as not said.
"""

from collections.abc import Sequence

from spanreward import Reward, Sample, Span, Verdict
from spanreward.rewards.language.pipeline import load_pipeline

KINDS = {"NOUN", "PROPN", "ADJ", "VERB"}
Word = tuple[str, int, int]


class Said(Reward):
    columns = ("context",)
    main_parts = ("all", "words")

    def __init__(self, name: str = "said") -> None:
        super().__init__(name)

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        language = load_pipeline()
        texts = list(dict.fromkeys(text for one in samples for text in (one.completion, one.context or "")))
        words: dict[str, list[Word]] = {}
        lemmas: dict[str, set[str]] = {}
        for text, doc in zip(texts, language.pipe(texts), strict=True):
            kept = [token for token in doc if token.pos_ in KINDS and token.is_alpha]
            words[text] = [(token.lemma_.lower(), token.idx, token.idx + len(token)) for token in kept]
            lemmas[text] = {form.lower() for token in doc for form in (token.lemma_, token.text)}
        return [verdict(words[one.completion], lemmas[one.context or ""]) for one in samples]


def verdict(words: Sequence[Word], said: set[str]) -> Verdict:
    unsaid = [(start, end) for lemma, start, end in words if lemma not in said]
    spans = tuple(Span(start, end, 0.0, 0.0, "word", "not in context", at) for at, (start, end) in enumerate(unsaid))
    share = 1 - len(unsaid) / len(words) if words else 1.0
    score = float(not unsaid)
    return Verdict(score, parts={"all": score, "words": share}, spans=spans)
