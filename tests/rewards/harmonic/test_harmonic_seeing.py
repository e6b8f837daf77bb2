"""Pictures reach judges that see, which are LLaVA's and Qwen2.5-VL's with random weights."""

from typing import Any

import pytest

from spanreward import HarmonicReward, Sample
from tests.support.tiny_models import FIRST, SECOND, encodings, save_llava, save_qwen, started

SEEING = ("correctness", "completeness")


@pytest.fixture(scope="module", params=[save_llava, save_qwen], ids=["llava", "qwen2.5-vl"])
def judge(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return started(request.param, tmp_path_factory.mktemp("seeing"), batch_size=8)


def test_a_picture_changes_what_sees_it_and_is_encoded_once_for_all_questions(judge: Any) -> None:
    text = "A red circle is on a wall. It is a photograph."
    samples = [Sample("", text, images=(picture,)) for picture in (FIRST, SECOND)]
    reward = HarmonicReward(judge)
    alone = [reward.assess([sample])[0] for sample in samples]
    runs = encodings(judge)
    verdicts = reward.assess(samples)
    assert len(runs) == len(samples)
    # the batch around it shifts floats, not ratings
    for verdict, single in zip(verdicts, alone, strict=True):
        assert len(verdict.spans) == 2
        assert verdict.parts == pytest.approx(single.parts, abs=1e-3)
    one, other = verdicts
    for criterion in reward.criteria:
        same = one.parts[criterion.name] == other.parts[criterion.name]
        assert same == (criterion.name not in SEEING), criterion.name
