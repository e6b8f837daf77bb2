"""A served metric as a resources server of NeMo Gym (nemo-gym 0.7.0).

    spanreward serve posh --judge vllm:Qwen/Qwen3-14B                                     # anywhere
    # in Gym: resources_servers/spanreward/app.py is this file, and its configuration gives reward_url

The file needs nothing of spanreward's in Gym's environment, whose openai 2.44 is older than spanreward's. A task's row
has `reference`, a text or a list of texts. A response that could not be judged raises JudgeError. Gym then answers with
`mask_sample` at the top, and in `instance_config`, where NeMo RL reads it: the response is left out, and is no 0.
"""

import os
from typing import Any

from nemo_gym.base_resources_server import (
    BaseResourcesServerConfig,
    BaseVerifyRequest,
    BaseVerifyResponse,
    SimpleResourcesServer,
)
from nemo_gym.judge import JudgeError, reraise_judge_errors
from nemo_gym.server_utils import get_response_json, raise_for_status, request
from pydantic import ConfigDict


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
        row = {"completion": last_text(body.model_dump()["response"]), "reference": body.reference}
        verdict = await reraise_judge_errors(self.verdict(row))
        if verdict["score"] is None:
            raise JudgeError(f"{verdict['status']}: {verdict['note']}")
        return VerifyResponse(
            **body.model_dump(),
            reward=verdict["score"],
            parts=verdict["parts"],
            spans=verdict["spans"],
        )

    async def verdict(self, row: dict[str, Any]) -> dict[str, Any]:
        headers = {}
        if "SPANREWARD_API_KEY" in os.environ:
            headers["Authorization"] = f"Bearer {os.environ['SPANREWARD_API_KEY']}"
        url = f"{self.config.reward_url}/score"
        answer = await request("POST", url, json={"rows": [row]}, headers=headers)
        await raise_for_status(answer)
        (verdict,) = (await get_response_json(answer))["verdicts"]
        return verdict


def last_text(response: dict[str, Any]) -> str:
    """The text of the response's last message, "" where it has none."""
    messages = [item for item in response["output"] if item["type"] == "message"]
    if not messages:
        return ""
    blocks = messages[-1]["content"]
    return "".join(block["text"] for block in blocks if block["type"] == "output_text")


if __name__ == "__main__":
    SpanRewardServer.run_webserver()
