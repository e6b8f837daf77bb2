"""A served metric as a resources server of NeMo Gym (read, not run: NVIDIA-NeMo/Gym, October 2026).

    spanreward serve posh --judge vllm:Qwen/Qwen3-14B                                     # anywhere
    # in Gym: resources_servers/spanreward/app.py is this file, and its configuration gives reward_url

A task's row has `reference`, a text or a list of texts. Gym knows a reward that measures nothing (`mask_sample`): a
response that could not be judged is left out, and is no 0.
"""

import asyncio
from dataclasses import asdict

from nemo_gym.base_resources_server import (
    BaseResourcesServerConfig,
    BaseVerifyRequest,
    BaseVerifyResponse,
    SimpleResourcesServer,
)
from pydantic import ConfigDict

from spanreward import RemoteReward, Sample
from spanreward.rewards.rows.messages import message_text


class Config(BaseResourcesServerConfig):
    reward_url: str = "http://127.0.0.1:8400"


class VerifyRequest(BaseVerifyRequest):
    model_config = ConfigDict(extra="allow")
    reference: str | list[str]


class VerifyResponse(BaseVerifyResponse):
    model_config = ConfigDict(extra="allow")
    parts: dict[str, float]
    spans: list[dict]


class SpanRewardServer(SimpleResourcesServer):
    config: Config

    async def verify(self, body: VerifyRequest) -> VerifyResponse:
        said = [
            message_text(one)
            for one in body.model_dump()["response"]["output"]
            if one.get("type") == "message"
        ]
        sample = Sample("", (said or [""])[-1] or "", references=body.reference)
        (verdict,) = await asyncio.to_thread(
            RemoteReward(self.config.reward_url).judge_samples, [sample]
        )
        return VerifyResponse(
            **body.model_dump(),
            reward=verdict.score or 0.0,
            mask_sample=verdict.score is None,
            failure_reason=verdict.note if verdict.score is None else None,
            parts=verdict.parts,
            spans=[asdict(span) for span in verdict.spans],
        )


if __name__ == "__main__":
    SpanRewardServer.run_webserver()
