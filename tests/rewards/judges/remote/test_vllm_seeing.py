"""Pictures through vLLM's own server, as ids' neighbour and as chats: rated as by transformers."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from spanreward import HarmonicReward, Rating, Sample, Status
from spanreward.rewards.judges.local.transformers_judge import TransformersJudge
from spanreward.rewards.judges.remote.chat_judge import ChatJudge
from spanreward.rewards.judges.remote.server_judge import ServerJudge
from tests.support.tiny_models import ask, drawing
from tests.support.tiny_rater import rater_folder, served_rater

pytestmark = pytest.mark.vllm
SHOWN: list[tuple[Image.Image, ...]] = [
    *((drawing(seed, size),) for seed, size in enumerate([(56, 56), (224, 112), (60, 90)])),
    (Image.new("RGBA", (64, 64), (255, 0, 0, 90)),),
    (drawing(1), drawing(2)),
    (),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rater_folder(tmp_path_factory)


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with served_rater(folder) as url:
        yield url


@pytest.fixture(params=["server", "chat"])
def judge(request: pytest.FixtureRequest, url: str, folder: Path) -> Any:
    kind = ServerJudge if request.param == "server" else ChatJudge
    return kind(url, str(folder), min_mass=0.0, deadline=300.0)


def test_64_pictured_questions_at_once(judge: Any, folder: Path) -> None:
    judge.start()
    assert judge.sees_pictures
    texts = [f"Rate it from 1 to 5, {n}." for n in range(11)]
    questions = [ask(text, *pictures) for text, pictures in product(texts, SHOWN)][:64]
    local = TransformersJudge(str(folder), min_mass=0.0, dtype="float32")
    near = 0
    for one, other in zip(judge.rate(questions), local.rate(questions), strict=True):
        assert isinstance(one, Rating)
        # with less mass, a chat's 20 words leave out entries
        if isinstance(judge, ServerJudge) or other.mass > 0.5:
            near += 1
            assert (one.mean, one.mass) == pytest.approx((other.mean, other.mass), abs=0.02)
    assert near > 30
    assert (judge.usage.retries, judge.usage.timeouts, judge.usage.written) == (0, 0, 0)


def test_harmonic_scores_are_those_of_transformers(judge: Any, folder: Path) -> None:
    samples = [
        Sample("Describe it.", f"It shows a street, {n}. There is a dog.", images=pictures)
        for n, pictures in enumerate(SHOWN[:4])
    ]
    local = TransformersJudge(str(folder), min_mass=0.0, dtype="float32")
    served = HarmonicReward(judge).assess(samples)
    for one, other in zip(served, HarmonicReward(local).assess(samples), strict=True):
        assert one.status is other.status is Status.OK
        assert one.score == pytest.approx(other.score, abs=1e-3)
        assert [span.start for span in one.spans] == [span.start for span in other.spans]
