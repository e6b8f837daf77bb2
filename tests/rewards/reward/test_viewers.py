"""Who would be shown pictures that it cannot see, as far as is known before anything starts."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from spanreward import CriteriaReward, DifferencesReward, FunctionJudge, HarmonicReward, Sample
from spanreward.rewards import JudgedReward, LaveReward, PairwiseReward, PoshReward, load_judge
from spanreward.rewards.judges.local.transformers_judge import TransformersJudge
from spanreward.rewards.reward.viewers import check_seen, only_pictures, unseeing_sentence
from tests.support.fakes import FakeJudge
from tests.support.tiny_models import save_llama, save_llava

PICTURE = "nowhere.png"  # nothing opens it
PROMPT = "Rate it: {completion}"
BLIND = FunctionJudge("mine", lambda text: 3)


def pictured(**columns: Any) -> Sample:
    return Sample("", "A dog.", images=(PICTURE,), **columns)


SHOWN: list[tuple[Any, dict[str, Any]]] = [
    (HarmonicReward(BLIND), {}),
    (HarmonicReward(BLIND, text_judge="match"), {}),
    (HarmonicReward(BLIND, task="vqa"), {"question": "What?"}),
    (HarmonicReward(BLIND), {"task": "reg", "bbox": (0, 0, 1, 1)}),
    (PairwiseReward(BLIND), {}),
    (PairwiseReward(BLIND, anchor="anchor"), {"anchor": "A cat."}),
    (CriteriaReward(BLIND), {"criteria": ("Names it.",)}),
    (JudgedReward(BLIND, PROMPT, evidence="picture"), {}),
    (DifferencesReward(BLIND), {"references": ("A dog.",)}),
    (DifferencesReward(BLIND), {}),
]


@pytest.mark.parametrize(("reward", "columns"), SHOWN)
def test_a_picture_for_a_judge_that_reads_text_only_is_refused(reward: Any, columns: Any) -> None:
    with pytest.raises(ValueError, match="reads text only") as refusal:
        check_seen(reward, [Sample("", "A dog.", context="A dog."), pictured(**columns)])
    assert str(refusal.value).startswith(f"{reward.__name__}: the judge function ")
    cure = "reference" if reward.__name__ == "differences" else "context"
    assert f"evidence='{cure}'" in str(refusal.value)
    check_seen(reward, [Sample("", "A dog.", context="A dog.")])


UNSHOWN: list[tuple[Any, dict[str, Any]]] = [
    (PoshReward(BLIND), {"references": ("A dog.",)}),
    (LaveReward(BLIND), {"question": "What?", "answers": ("dog",)}),
    (HarmonicReward(BLIND, evidence="context"), {"context": "A dog."}),
    (HarmonicReward(BLIND, criteria=["clarity", "fluency"]), {}),
    (HarmonicReward(FakeJudge(), text_judge=BLIND), {}),
    (HarmonicReward(BLIND), {"task": "vqa"}),  # without a question the row is not applicable
    (HarmonicReward(BLIND), {"task": "nothing"}),
    (CriteriaReward(BLIND), {}),  # of a mix's other metric: the row has no criteria
    (PairwiseReward(BLIND, anchor="anchor"), {}),
    (JudgedReward(BLIND, PROMPT), {}),
    (JudgedReward(BLIND, "{question} {completion}", evidence="picture"), {}),
    (DifferencesReward(BLIND, evidence="reference"), {"references": ("A dog.",)}),
]


@pytest.mark.parametrize(("reward", "columns"), UNSHOWN)
def test_who_is_shown_no_picture_may_be_blind(reward: Any, columns: Any) -> None:
    check_seen(reward, [pictured(**columns)])


JUDGING: list[Any] = [HarmonicReward(BLIND, spans="none"), PairwiseReward(BLIND, form="score")]
JUDGING += [HarmonicReward(BLIND, spans="none", evidence="context")]
JUDGING += [JudgedReward(BLIND, PROMPT, evidence="picture")]


@pytest.mark.parametrize("reward", JUDGING)
def test_the_rule_is_that_of_judging(reward: Any) -> None:
    """What is refused ahead is what fails row by row, and nothing else."""
    picture = Image.new("RGB", (8, 8))
    seen = Sample("", "A dog.", images=(picture,))
    samples = [seen, Sample("", "A dog."), Sample("", "A dog.", context="A dog.")]
    samples += [replace(seen, context="A dog."), replace(seen, question="What?")]
    samples += [replace(seen, task="reg", bbox=(0, 0, 4, 4))]
    for sample in samples:
        (verdict,) = reward.assess([sample])
        assert reward.shows_pictures(sample) == ("reads text only" in verdict.note)


def test_a_model_tells_by_its_files_and_one_that_is_not_here_is_not_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_llama(tmp_path / "text")
    save_llava(tmp_path / "seeing")
    text, seeing = f"transformers:{tmp_path / 'text'}", f"transformers:{tmp_path / 'seeing'}"
    assert load_judge(text).reads_text_only()
    assert not load_judge(seeing).reads_text_only()
    assert load_judge(text, cache=tmp_path / "a").reads_text_only()
    jury = load_judge(f"{seeing}+match")
    assert jury.reads_text_only()
    assert "the judge jury(" in unseeing_sentence(HarmonicReward(jury))
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("the hub was asked"))
    assert unseeing_sentence(HarmonicReward(TransformersJudge("org/absent-model"))) == ""


def test_a_box_has_no_context_in_its_place() -> None:
    boxed = HarmonicReward(BLIND, task="reg")
    assert only_pictures(boxed)
    assert unseeing_sentence(boxed).endswith("with a vision-language model.")
    others = (HarmonicReward(BLIND), DifferencesReward(BLIND), PoshReward(BLIND))
    assert not any(map(only_pictures, others))
