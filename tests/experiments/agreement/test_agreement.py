"""Agreement with people: statistics by hand, loaders, and floors that repeat the data's README."""

from math import isnan

import pytest

from experiments.agreement import caption_sets, measures
from experiments.agreement.captions import (
    Agreement,
    caption_flags,
    judge,
    measure_people,
    worst_spans,
    wrong_places,
)
from experiments.agreement.graphs import compare, normal, triples_of
from experiments.labels.statistics import kendall_tau_c, pair_accuracy
from spanreward.rewards.base.verdict import Span, Verdict
from spanreward.rewards.comparison.resampling import bootstrap
from spanreward.rewards.judges.match.match_judge import MatchJudge
from spanreward.rewards.language.parse import scene_graphs
from spanreward.rewards.posh import PoshReward
from spanreward.rewards.text import bag_of_words
from tests.support.paths import DATA

present = pytest.mark.skipif(
    not (DATA / "hat_aloha").is_dir(), reason=f"people's judgments are not at {DATA}"
)


def test_retrieval() -> None:
    found = measures.flag_retrieval([True, True, False, True], [True, False, False, False])
    expected = (pytest.approx(1 / 3), 1.0, pytest.approx(0.5))
    assert (found.precision, found.recall, found.f1) == expected
    assert measures.retrieval(0, 0, 0).f1 == 0.0


def test_swap_consistency_by_hand() -> None:
    votes = [("a", "a"), ("a", "b"), ("tie", "tie"), ("a", None)]
    assert measures.swap_consistency(votes) == pytest.approx(2 / 3)
    assert measures.swap_consistency([(None, "a")]) is None
    # seen from one of the two answers: the judge chose a place
    assert measures.swap_consistency([(1, -1)] * 20) == 0.0


def test_auroc_counts_ties_half() -> None:
    assert measures.auroc([0.9, 0.2, 0.4], [True, False, True]) == 1.0
    assert measures.auroc([1, 1, 0, 2], [True, False, True, False]) == pytest.approx(
        (0.5 + 0 + 0 + 0) / 4
    )
    assert isnan(measures.auroc([1, 2], [True, True]))


def test_kendall_tau_c() -> None:
    # 5 concordant, 0 discordant of 6 pairs, one tie in the ratings: tau-c = 2 m (P - Q) / (n^2 (m -
    # 1)), m = 3, n = 4
    assert kendall_tau_c([1, 2, 3, 4], [1, 2, 2, 3]) == pytest.approx(2 * 3 * 5 / (16 * 2))
    assert isnan(kendall_tau_c([1, 1], [1, 2]))


def test_pair_accuracy_counts_a_tie_half() -> None:
    assert pair_accuracy([3, 1, 2, 2], [1, 2, 2, 1]) == 2.5 / 4
    assert isnan(pair_accuracy([], []))


def test_bootstrap() -> None:
    interval = bootstrap([0.0, 1.0] * 50, lambda drawn: sum(drawn) / len(drawn))
    assert 0.38 < interval.low < 0.45 < 0.55 < interval.high < 0.62
    assert bootstrap([1.0], sum) == bootstrap([1.0], sum)
    with pytest.raises(ValueError, match="at least one"):
        bootstrap([], len)


def test_words_are_found_in_order() -> None:
    flags = [("A", False), ("cat,", False), ("a", True), ("CAT.", True)]
    words = caption_sets.flagged_words("A cat, a CAT.", flags)
    assert [(word.start, word.end) for word in words] == [(0, 1), (2, 6), (7, 8), (9, 13)]
    with pytest.raises(ValueError, match="does not follow"):
        caption_sets.flagged_words("A cat.", [("dog", False)])


def test_triples_and_quotations() -> None:
    text = "( man , wear , hat ) , ( hat , is , red, or so ) , ( sign (old) , on , wall )"
    expected = (("man", "wear", "hat"), ("hat", "is", "red, or so"), ("sign (old)", "on", "wall"))
    assert caption_sets.read_triples(text) == expected
    assert caption_sets.quotation("hallucination: a cat ", "Here is a cat.") == (8, 13)
    assert caption_sets.quotation("a cat", "Here is a cat.") is None


def test_floors_by_hand() -> None:
    assert bag_of_words.bag_f1("a red circle", ["A circle.", "A dog."]) == pytest.approx(2 / 3)
    assert measures.token_precision("red red circle", ["A red circle."]) == pytest.approx(2 / 3)
    assert measures.absent_words("A red circle", ["a circle"]) == [(2, 5)]


def test_worst_spans_leave_out_what_was_never_judged() -> None:
    worth = [(0, 1, True), (1, -0.5, True), (0, -1, True), (0, 0, False)]
    spans = []
    for n, (score, credit, asked) in enumerate(worth):
        spans.append(Span(n, n + 1, score, credit, "entity", "", n, asked))
    verdict = Verdict(0.5, spans=tuple(spans))
    assert [span.start for span in worst_spans(verdict, 2)] == [2, 0]
    assert wrong_places(verdict) == [(0, 1), (2, 3)]


def test_a_wrong_word_is_flagged() -> None:
    flags = [("A", False), ("red", True), ("circle.", False)]
    words = caption_sets.flagged_words("A red circle.", flags)
    record = caption_sets.FlaggedCaption("A red circle.", ("A blue circle.",), words, True)
    (verdict,) = judge(PoshReward(MatchJudge()), [(record.caption, record.references)])
    found = caption_flags(record, verdict)
    assert found.ours == found.floor == found.people == (False, True, False)
    # no full stop
    assert [tuple(map(round, token)) for token in found.tokens] == [(1, 1, 0), (0, 0, 1), (1, 1, 0)]
    assert found.content == (False, True, True)


def test_graphs_as_people_draw_them() -> None:
    (graph,) = scene_graphs(["The man's hats are red. A man sits on a bench."])
    people = [("hat", "is", "red"), ("man", "on", "bench"), ("man", "under", "tree")]
    score = compare(normal(triples_of(graph)), normal(people), (0, 1, 2))
    assert (score.precision, score.recall) == (1.0, pytest.approx(2 / 3))
    assert compare(normal([("a", "on", "b")]), normal([("a", "in", "b")]), (0, 2)).f1 == 1.0


@present
def test_loaders_read_every_record() -> None:
    assert len(caption_sets.load_haelm(DATA)) == 120
    assert sum(record.hallucinated for record in caption_sets.load_hat(DATA)) == 67
    assert sum(len(image.candidates) for image in caption_sets.load_flickr8k_expert(DATA)) == 1500
    assert len(caption_sets.load_sugarcrepe(DATA)) == 1020
    foils = caption_sets.load_discosg_foil(DATA)
    assert (len(foils), sum(foil.hallucination is not None for foil in foils)) == (108, 86)
    graphs = caption_sets.load_discosg_graphs(DATA)
    assert len(graphs) == 198
    assert 19 < sum(len(graph.triples) for graph in graphs) / len(graphs) < 21


@present
def test_floors_repeat_the_readme() -> None:
    """To three decimals, but for those that hang on its list of stop words."""
    images = caption_sets.load_flickr8k_expert(DATA)
    scores: list[float] = []
    people: list[float] = []
    for image in images:
        for caption, ratings in image.candidates:
            scores += [bag_of_words.bag_f1(caption, image.references)] * len(ratings)
            people += ratings
    assert kendall_tau_c(scores, people) == pytest.approx(0.432, abs=0.0005)
    foils = caption_sets.load_discosg_foil(DATA)
    for floor, expected in ((bag_of_words.bag_f1, 0.912), (measures.token_precision, 0.949)):
        right = [floor(foil.corrected, [foil.reference]) for foil in foils]
        wrong = [floor(foil.hallucinated, [foil.reference]) for foil in foils]
        assert pair_accuracy(right, wrong) == pytest.approx(expected, abs=0.0006)
    published = {"swap_obj": 0.512, "swap_att": 0.603, "replace_att": 0.670, "replace_rel": 0.773}
    published |= {"replace_obj": 0.840}
    published |= {"add_obj": 0.920, "add_att": 0.990}
    for edit, expected in published.items():
        every = caption_sets.load_sugarcrepe(DATA)
        records = [record for record in every if record.edit_type == edit]
        right = [bag_of_words.bag_f1(record.caption, record.references) for record in records]
        wrong = [bag_of_words.bag_f1(record.negative, record.references) for record in records]
        tolerance = 0.011 if edit in ("swap_obj", "replace_rel") else 0.0006
        assert pair_accuracy(right, wrong) == pytest.approx(expected, abs=tolerance), edit


@present
def test_one_command_measures_a_set() -> None:
    (row,) = measure_people(DATA, PoshReward(MatchJudge()), ["haelm"])
    assert isinstance(row, Agreement)
    assert row.interval.low < row.ours < row.interval.high
    assert row.floor == pytest.approx(0.520, abs=0.004)
