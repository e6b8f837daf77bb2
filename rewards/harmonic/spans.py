"""Turns ratings of sentences into spans, one component per sentence.

    sentence_spans(places, whole, ratings, adds)      # each sentence was rated within the text
    # the text was rated without each sentence (reward/row_reward.py)
    named_spans(spans, whole, others)

The credit of a sentence is the score minus the score without it, in the score's unit, 0 to 1.
"ablation" measures it. "sentences" estimates it from questions about the one text. With the text's
weight w and rating M of a criterion, the sentence's rating m and n sentences, the credit is the sum
over the criteria of

    w (m - mean of m) / (n - 1) / 4         if the text is as good as the average of its sentences
    w (M - 1) (m - 1) / sum(m - 1) / 4      if the sentences add up (completeness)

The first is what the average loses without the sentence. The second is the sentence's share of what
the text achieves. The only sentence of a text has the whole score as its credit, because an empty
text scores 0.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from spanreward.rewards.base.verdict import Span
from spanreward.rewards.harmonic.scores import Aggregate, overall, unit
from spanreward.rewards.reward.row_reward import Place


def sentence_spans(
    places: Sequence[Place],
    whole: Aggregate,
    ratings: Sequence[Mapping[str, float]],
    adds: Set[str],
) -> tuple[Span, ...]:
    """Returns a span per sentence.

    ratings: per sentence the mean rating of each criterion, 1 to 5. adds: the criteria in which
    sentences add up, which a span's score leaves out if there are others. A span's kind is the
    criterion with the largest part of its credit.
    """
    credits = sentence_credit(whole, ratings, adds)
    weights = _weights_in_score(whole.weights, adds)
    spans = []
    sentences = zip(places, ratings, credits, strict=True)
    for number, (place, means, credit) in enumerate(sentences):
        rating = 1.0
        if weights:
            scoring = {criterion: means[criterion] for criterion in weights}
            rating = overall(scoring, weights)
        score = min(max(unit(rating), 0.0), 1.0)
        start, end = place
        span = Span(
            start,
            end,
            score=score,
            credit=sum(credit.values()),
            kind=_largest(credit),
            note=_ratings_in_words(means),
            component=number,
        )
        spans.append(span)
    return tuple(spans)


def _weights_in_score(weights: Mapping[str, float], adds: Set[str]) -> dict[str, float]:
    """Returns the weights of the criteria in a sentence's score, with sum 1, or {} if they are all
    0.

    weights: of the criteria in the text's score. adds: see `sentence_spans`.
    """
    # One sentence of a good list is far from complete, and is not bad for that: such criteria count
    # only where there are no others.
    scoring: Mapping[str, float] = {
        name: weight for name, weight in weights.items() if name not in adds
    }
    if not scoring:
        scoring = weights
    total = sum(scoring.values())
    # the weight of a criterion can round to 0 where another is far surer
    if not total:
        return {}
    return {name: weight / total for name, weight in scoring.items()}


def sentence_credit(
    whole: Aggregate,
    ratings: Sequence[Mapping[str, float]],
    adds: Set[str],
) -> list[dict[str, float]]:
    """Returns each sentence's credit by criterion, see the top of this file.

    ratings: per sentence the mean rating of each criterion, 1 to 5, for at least two sentences.
    """
    count = len(ratings)
    credits: list[dict[str, float]] = [{} for _ in ratings]
    for criterion, weight in whole.weights.items():
        of_sentences = [means[criterion] for means in ratings]
        achieved = sum(rating - 1 for rating in of_sentences)
        average = sum(of_sentences) / count
        for credit, rating in zip(credits, of_sentences, strict=True):
            if criterion not in adds:
                share = (rating - average) / (count - 1)
            elif achieved:
                share = (whole.means[criterion] - 1) * (rating - 1) / achieved
            else:  # every sentence is rated 1, so none of them achieves anything
                share = 0.0
            # a rating spans 4 levels, a score 1
            credit[criterion] = weight * share / 4
    return credits


def named_spans(
    spans: Sequence[Span], whole: Aggregate, sentences: Sequence[Aggregate]
) -> tuple[Span, ...]:
    """Returns the spans of an ablation, with the criterion that a sentence changes most by the
    text's weights.

    sentences: per sentence the aggregate of the text without it; none for the only sentence,
    without which all is 1.
    """
    named = []
    for number, span in enumerate(spans):
        if sentences:
            means_without = sentences[number].means
            note = f"without it {_ratings_in_words(means_without)}"
        else:
            means_without = dict.fromkeys(whole.means, 1.0)
            note = _ratings_in_words(whole.means)
        changes = {}
        for criterion, weight in whole.weights.items():
            change = whole.means[criterion] - means_without[criterion]
            changes[criterion] = weight * change
        named.append(replace(span, kind=_largest(changes), note=note))
    return tuple(named)


def _largest(changes: Mapping[str, float]) -> str:
    """Returns the criterion with the largest part, of equals the first.

    changes: the credit by criterion. A loss counts like a gain of its size.
    """
    return max(changes, key=lambda criterion: abs(changes[criterion]))


def _ratings_in_words(means: Mapping[str, float]) -> str:
    """Returns ratings for a note, as in "correctness 4.5, fluency 3.0 of 5"."""
    ratings = [f"{criterion} {rating:.1f}" for criterion, rating in means.items()]
    return f"{', '.join(ratings)} of 5"
