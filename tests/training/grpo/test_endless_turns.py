"""A chat template whose turns do not end generation: RL warns, and names it where all are cut. One
that does not end itself is refused.
"""

import re
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset

from spanreward import SpanGRPOTrainer
from spanreward.training.policy import load_policy
from tests.support.batches import config_of
from tests.support.tiny_sft import BASE_TOKENS, CHATML, save_with
from tests.support.tiny_trainer import Scored
from tests.support.tokenizer import SPECIAL

WARNING = r"turn with '<\|im_end\|>', .* '<\|endoftext\|>': .*the policy's generation_config.json"
MESSAGES = [{"role": "user", "content": "Why?"}]


def trainer_with(folder: Path, tokens: tuple[str, ...], prompt: Any, **settings: Any) -> Any:
    save_with(folder / "policy", CHATML, tokens)
    model, processor = load_policy(str(folder / "policy"))
    args = config_of(folder / "out", **settings)
    rewards = [Scored(lambda sample: len(sample.completion) % 5 / 5)]
    data = Dataset.from_dict({"prompt": [prompt] * 8})
    return SpanGRPOTrainer(model, rewards, args, data, processing_class=processor)


@pytest.mark.parametrize(
    ("tokens", "prompt", "warned"),
    [(BASE_TOKENS, MESSAGES, 1), (SPECIAL, MESSAGES, 0), (BASE_TOKENS, "Why?", 0)],
    ids=["endless", "a turn that ends", "no turns"],
)
def test_it_is_said_before_the_first_step(
    tmp_path: Path, tokens: Any, prompt: Any, warned: int, caplog: pytest.LogCaptureFixture
) -> None:
    trainer_with(tmp_path, tokens, prompt)
    assert len(re.findall(WARNING, caplog.text)) == caplog.text.count("template ends") == warned


def test_where_all_are_cut_no_longer_completion_is_advised(tmp_path: Path) -> None:
    settings = {"max_completion_length": 1, "mask_truncated_completions": True, "max_steps": 9}
    trainer = trainer_with(tmp_path, BASE_TOKENS, MESSAGES, **settings)
    trainer.train()
    stopped = trainer.learning_monitor.stopped
    assert re.search(r"max_completion_length \(1\), .* chat template ends", stopped)
    assert "raise" not in trainer.learning_monitor.stopped


def test_a_template_that_never_ends_itself_is_refused(tmp_path: Path) -> None:
    """Where TRL loads the policy with its tokenizer, and no recipe has looked at them."""
    folder = tmp_path / "policy"
    save_with(folder, "{% for m in messages recursive %}{{ loop(messages) }}{% endfor %}")
    args = config_of(tmp_path / "out")
    data = Dataset.from_dict({"prompt": [MESSAGES] * 8})
    with pytest.raises(ValueError, match=rf"the chat template of \S*{folder} calls itself"):
        SpanGRPOTrainer(str(folder), [Scored(lambda sample: 0.5)], args, data)
