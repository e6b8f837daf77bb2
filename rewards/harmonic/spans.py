"""Turns ratings of sentences into spans, one component per sentence.

    # spans="sentences": the judge rated each sentence within the text
    sentence_spans(places, whole, ratings, adds)
    # spans="ablation": the judge rated the text without each sentence (reward/row_reward.py)
    named_spans(spans, whole, others)

The credit of a sentence is the score of the text minus the score without the sentence, in the
score's unit, 0 to 1. spans="ablation" measures the credit. spans="sentences" estimates the credit
from the sentence's ratings. Per criterion, let w be the weight and M the text's rating. Let m be
the sentence's rating and n the number of sentences. The credit is the sum over the criteria of

    w (m - mean of m) / (n - 1) / 4         if the text is as good as the average of its sentences
    w (M - 1) (m - 1) / sum(m - 1) / 4      if the sentences add up (completeness)

The first term is the loss of the average without the sentence. The second term is the sentence's
share of the text's rating above 1. If a text has only one sentence, the sentence's credit is the
whole score, because an empty text scores 0.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from spanreward.rewards.base.verdict import Span
from spanreward.rewards.harmonic.scores import Aggregate, overall_rating, score_of_rating
from spanreward.rewards.reward.row_reward import SentencePlace


def sentence_spans(
    places: Sequence[SentencePlace],
    whole: Aggregate,
    ratings: Sequence[Mapping[str, float]],
    adds: Set[str],
) -> tuple[Span, ...]:
    """Returns one span per sentence, in order.

    places: the characters [start, end) of each sentence. whole: the aggregate of the whole text.
    ratings: for each sentence, the mean rating by each criterion, 1 to 5. adds: the names of the
    criteria in which sentences add up, such as "completeness". A span's score ignores the criteria
    of `adds`, unless all criteria are in `adds`. A span's kind is the criterion with the largest
    part of the span's credit.
    """
    credits = sentence_credit(whole, ratings, adds)
    weights = _weights_in_score(whole.weights, adds)
    spans = []
    sentences = zip(places, ratings, credits, strict=True)
    for number, (place, means, credit) in enumerate(sentences):
        start, end = place
        span = Span(
            start,
            end,
            score=_score_of_sentence(means, weights),
            credit=sum(credit.values()),
            kind=_largest_change(credit),
            note=_ratings_in_words(means),
            component=number,
        )
        spans.append(span)
    return tuple(spans)


def _score_of_sentence(means: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Returns the score of a sentence, 0 to 1: its weighted mean rating, mapped from 1 to 5. The
    score is 0 without weights.

    means: the sentence's mean rating by each criterion, 1 to 5. weights: the weights of the
    criteria that count (`_weights_in_score`).
    """
    if not weights:
        return 0.0
    counted = {criterion: means[criterion] for criterion in weights}
    score = score_of_rating(overall_rating(counted, weights))
    return min(max(score, 0.0), 1.0)


def _weights_in_score(weights: Mapping[str, float], adds: Set[str]) -> dict[str, float]:
    """Returns the weight of each criterion in a sentence's score. The sum of the weights is 1.

    The criteria in `adds` do not count if the text has other criteria: a single sentence of a good
    text is far from complete, but is not a bad sentence.

    weights: the weight of each criterion in the text's score. adds: the criteria for which the
    sentences of a text together earn the text's rating, such as "completeness". The result is {} if
    all weights are 0.
    """
    counted: Mapping[str, float] = {
        name: weight for name, weight in weights.items() if name not in adds
    }
    if not counted:
        counted = weights
    total = sum(counted.values())
    # the weight of a criterion can round to 0 if the judge is far surer of another criterion
    if not total:
        return {}
    return {name: weight / total for name, weight in counted.items()}


def sentence_credit(
    whole: Aggregate,
    ratings: Sequence[Mapping[str, float]],
    adds: Set[str],
) -> list[dict[str, float]]:
    """Returns, for each sentence, the credit by criterion (formulas at the top of this file).

    ratings: for each of at least two sentences, the mean rating by each criterion, 1 to 5. adds:
    the criteria in which sentences add up, such as "completeness".
    """
    count = len(ratings)
    credits: list[dict[str, float]] = [{} for _ in ratings]
    for criterion, weight in whole.weights.items():
        of_sentences = [means[criterion] for means in ratings]
        achieved = sum(rating - 1 for rating in of_sentences)
        average = sum(of_sentences) / count
        for credit, rating in zip(credits, of_sentences, strict=True):
            if criterion not in adds:
                # how much the average falls without the sentence
                share = (rating - average) / (count - 1)
            elif achieved:
                # the sentence's part of the text's rating above 1
                share = (whole.means[criterion] - 1) * (rating - 1) / achieved
            else:  # every sentence is rated 1, so no sentence adds to the text's rating
                share = 0.0
            # ratings from 1 to 5 have a range of 4, scores from 0 to 1 a range of 1
            credit[criterion] = weight * share / 4
    return credits


def named_spans(
    spans: Sequence[Span], whole: Aggregate, sentences: Sequence[Aggregate]
) -> tuple[Span, ...]:
    """Returns the spans of an ablation with a kind and a note.

    The kind is the criterion whose rating, times its weight, the sentence changes most.

    spans: one span per sentence. sentences: for each sentence, the aggregate of the text without
    the sentence. For a text of one sentence, `sentences` is empty, because the text without the
    sentence is empty. All ratings of an empty text are 1.
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
        named.append(replace(span, kind=_largest_change(changes), note=note))
    return tuple(named)


def _largest_change(changes: Mapping[str, float]) -> str:
    """Returns the criterion with the largest change, the first criterion if several are equal.

    changes: the change of the score by criterion. A loss counts like a gain of the same size.
    """
    return max(changes, key=lambda criterion: abs(changes[criterion]))


def _ratings_in_words(means: Mapping[str, float]) -> str:
    """Returns the ratings as a text for a note, such as "correctness 4.5, fluency 3.0 of 5"."""
    ratings = [f"{criterion} {rating:.1f}" for criterion, rating in means.items()]
    return f"{', '.join(ratings)} of 5"
