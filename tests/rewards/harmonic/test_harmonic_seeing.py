"""Pictures reach judges that see, which are LLaVA's and Qwen2.5-VL's with random weights."""

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from spanreward import HarmonicReward, Sample, Status
from spanreward.rewards.judges.local.transformers_judge import TransformersJudge
from tests.support.paths import DATA
from tests.support.tiny_models import encodings, save_llava, save_qwen, started

PHOTOS = DATA / "coco_open_images"
FIVE = ("correctness", "completeness", "clarity", "fluency", "conciseness")
pytestmark = pytest.mark.skipif(not PHOTOS.is_dir(), reason=f"the photographs are not at {PHOTOS}")


@pytest.fixture(scope="module", params=[save_llava, save_qwen], ids=["llava", "qwen2.5-vl"])
def judge(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return started(request.param, tmp_path_factory.mktemp("seeing"), batch_size=8)


def photos(count: int) -> list[tuple[Image.Image, str]]:
    """Photographs as they are on disk, each with one of its captions."""
    records = [json.loads(line) for line in (PHOTOS / "records.jsonl").read_text().splitlines()]
    chosen = [record for record in records if record["captions"]][:count]
    return [(Image.open(PHOTOS / record["file"]), record["captions"][0]) for record in chosen]


def test_another_picture_changes_what_sees_it_and_nothing_else(judge: Any) -> None:
    (first, caption), (second, _) = photos(2)
    rows = [Sample("", caption, images=(picture,)) for picture in (first, second)]
    one, other = HarmonicReward(judge, spans="none").assess(rows)
    assert one.status is other.status is Status.OK
    for name in FIVE:
        parts = (name, f"{name}_std")
        same = all(one.parts[part] == other.parts[part] for part in parts)
        assert same == (name not in ("correctness", "completeness")), name
    assert one.score != other.score


def test_a_picture_is_encoded_once_for_all_criteria_and_sentences(judge: Any) -> None:
    samples = []
    for picture, text in photos(3):
        two = f"{text.rstrip(' .')}. It is a photograph."
        samples.append(Sample("", two, images=(picture,)))
    reward = HarmonicReward(judge)
    alone = [reward.assess([sample])[0] for sample in samples]
    runs = encodings(judge)
    verdicts = reward.assess(samples)
    assert len(runs) == len(samples)
    assert all(len(verdict.spans) >= 2 for verdict in verdicts)
    # the batch around it shifts floats, not ratings
    for verdict, single in zip(verdicts, alone, strict=True):
        assert verdict.parts == pytest.approx(single.parts, abs=1e-3)


def test_a_group_shares_its_picture(judge: Any) -> None:
    ((picture, caption),) = photos(1)
    texts = (caption, "A dog.", "Two dogs. They run.")
    samples = [Sample("", text, images=(picture.copy(),)) for text in texts]
    runs = encodings(judge)
    for verdict in HarmonicReward(judge).assess(samples):
        assert verdict.status is Status.OK
    assert len(runs) == 1


def test_the_red_box_reaches_the_judge(judge: Any) -> None:
    ((picture, caption),) = photos(1)
    reward = HarmonicReward(judge, task="reg", criteria=["correctness"], spans="none")
    boxes = [(5, 5, 100, 100), (100, 100, 200, 200)]
    one, other = reward.assess([Sample("", caption, images=(picture,), bbox=box) for box in boxes])
    assert one.score != other.score


def test_a_text_judge_never_gets_a_picture(judge: Any, tmp_path: Path) -> None:
    class Reader(TransformersJudge):
        def rate(self, questions: Any, scale: Any = ("1", "2", "3", "4", "5")) -> Any:
            assert not any(question.images for question in questions)
            return super().rate(questions, scale)

    save_llava(tmp_path, seed=1)
    reader = Reader(str(tmp_path), min_mass=0.0)
    ((picture, caption),) = photos(1)
    sample = Sample("", caption, images=(picture,))
    (both,) = HarmonicReward(judge, text_judge=reader, spans="none").assess([sample])
    (seeing,) = HarmonicReward(judge, spans="none").assess([sample])
    (reading,) = HarmonicReward(reader, criteria=FIVE[2:], spans="none").assess([sample])
    for name in FIVE:
        alone = seeing if name in FIVE[:2] else reading
        assert both.parts[name] == pytest.approx(alone.parts[name])
