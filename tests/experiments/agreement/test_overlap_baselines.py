"""Baselines by hand, and a sentence for each that the machine lacks."""

import sys
from pathlib import Path

import pytest

from experiments.agreement import overlap_baselines as overlap
from spanreward.rewards.base.verdict import Sample, Status


def test_bleu_by_hand() -> None:
    pytest.importorskip("sacrebleu", reason="sacrebleu is not installed")
    of = overlap.bleu()
    assert of("a dog runs on the grass", ["a dog runs on the grass"]) == pytest.approx(1.0)
    # precisions 5/6, 3/5, 2/4, 1/3, no brevity penalty
    expected = (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25
    assert of("a cat runs on the grass", ["a dog runs on the grass"]) == pytest.approx(expected)


def test_rouge_l_by_hand() -> None:
    pytest.importorskip("rouge_score", reason="rouge-score is not installed")
    # the longest common subsequence is "dog on grass": 3 of 4 and 3 of 5, and a second reference
    # does not lower it
    references = ["the dog on green grass", "a car"]
    assert overlap.rouge_l()("dogs sit on grass", references) == pytest.approx(2 * 3 / 9)


def test_words_are_a_share() -> None:
    assert overlap.word_count("a red dog", []) == 0.0003
    words = overlap.ReferenceOverlap("words", overlap.word_count, fewest=0)
    assert words.assess([Sample("", "a b")])[0].score == 0.0002


def test_people_s_answers_stand_in_for_references() -> None:
    metrics, _ = overlap.baselines(answers=True)
    named = {metric.__name__: metric for metric in metrics}
    sample = Sample("", "two dogs", question="How many?", answers=("two dogs", "two", "2"))
    assert named["exact_match"].assess([sample])[0].score == 1.0
    (verdict,) = named["vqa_accuracy"].assess([sample])
    assert (verdict.status, "got 3" in verdict.note) == (Status.NOT_APPLICABLE, True)


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("sacrebleu", "rouge_score.rouge_scorer", "nltk.corpus"):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(
        "spanreward.training.experimental.judge_training.fit.MINILM_PACKAGE", "no_such_package"
    )
    metrics, left_out = overlap.baselines(spans=True)
    assert [metric.__name__ for metric in metrics] == ["words", "bag_of_words"]
    titles = [sentence.split(":")[0] for sentence in left_out]
    assert titles[:5] == ["BLEU", "ROUGE-L", "METEOR", "S-BERTScore", "4GramEmbed"]
    assert any(one.startswith("BLEU: left out, sacrebleu") for one in left_out)
    assert any("CLIPScore: left out" in sentence for sentence in left_out)


def test_a_folder_without_clip(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no CLIP in .*config\.json"):
        overlap.baselines(clip=tmp_path)
