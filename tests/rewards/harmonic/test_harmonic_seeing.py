"""Pictures reach judges that see, which are LLaVA's and Qwen2.5-VL's with random weights."""

import json
from typing import Any

import pytest
from PIL import Image

from spanreward import HarmonicReward, Sample, Status
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
