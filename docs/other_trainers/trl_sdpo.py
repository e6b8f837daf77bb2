"""A verdict's words as the feedback of TRL's SDPO, which learns from a prompt with feedback (TRL 1.16).

    JUDGE=vllm:Qwen/Qwen3-14B POLICY=... DATA=captions.jsonl accelerate launch trl_sdpo.py

TRL reads feedback from the dataset, and a verdict is there only after sampling. So this trainer hands the recorder's
verdicts to TRL's builder of prompts. A completion without a verdict, or without a fault, gets no feedback. DATA has the
columns `prompt` and `reference`.
"""

import os

from trl.experimental.sdpo import SDPOConfig, SDPOTrainer

from spanreward import PoshReward, Recorder, load_judge
from spanreward.rewards.reward.reward import feedback


class FeedbackTrainer(SDPOTrainer):
    def __init__(self, *given, recorder, **named):
        super().__init__(*given, reward_funcs=[recorder], **named)
        build = self.teacher_context_builder.build

        def told(*parts, **others):
            words = [
                feedback(*one) or None
                for one in zip(recorder.samples, recorder.verdicts, strict=True)
            ]
            return build(*parts, **{**others, "feedbacks": words})

        self.teacher_context_builder.build = told


if __name__ == "__main__":
    from datasets import load_dataset

    judge = load_judge(os.environ["JUDGE"])
    judge.start()
    data = load_dataset("json", data_files=os.environ["DATA"], split="train")
    config = SDPOConfig("outputs/sdpo", include_environment_feedback=True)
    FeedbackTrainer(
        os.environ["POLICY"], recorder=Recorder(PoshReward(judge)), args=config, train_dataset=data
    ).train()
