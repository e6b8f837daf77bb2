"""Pictures through server: and chat: judges, what of them is refused, and no more of them."""

import base64
import io
import json
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest
from PIL import Image

from spanreward import Question, Rating, Status
from spanreward.rewards.judges.remote import chat_form, remote_judge
from spanreward.rewards.judges.remote.chat_judge import ChatJudge
from spanreward.rewards.judges.remote.remote_judge import RemoteJudge
from spanreward.rewards.judges.remote.server_judge import ServerJudge
from spanreward.rewards.rows.pictures import MAX_PIXELS, shown_picture
from tests.support.server import IDS, Server
from tests.support.tiny_models import ask

RED = Image.new("RGB", (6, 4), "red")
BLUE = Image.new("RGB", (5, 5), "blue")


@pytest.fixture(params=["chat", "server"])
def judge(request: pytest.FixtureRequest, server: Server, folder: str) -> RemoteJudge:
    if request.param == "chat":
        return ChatJudge(server.url, "m", deadline=60.0)
    return ServerJudge(server.url, "m", folder, deadline=60.0)


def give(entry: object, *pictures: Any) -> Question:
    return ask(f"give {entry}", *pictures)


def about_pictures(server: Server) -> list[dict[str, Any]]:
    """The requests with pictures but for the trial, in the order of their coming."""
    return [body for body in server.bodies if "data:image" in str(body) and "give" in str(body)]


def sent_pictures(body: dict[str, Any]) -> list[Image.Image]:
    *parts, text = body["messages"][0]["content"]
    assert [part["type"] for part in (*parts, text)] == ["image_url"] * len(parts) + ["text"]
    encoded = [part["image_url"]["url"].partition(";base64,")[2] for part in parts]
    return [Image.open(io.BytesIO(base64.b64decode(one))) for one in encoded]


def test_pictures_stand_in_order_before_the_text(server: Server, judge: RemoteJudge) -> None:
    (rating,) = judge.rate([give(4, RED, BLUE)])
    assert rating.probabilities["4"] == pytest.approx(8 / 9)
    (body,) = about_pictures(server)
    shown = sent_pictures(body)
    assert [picture.getpixel((0, 0)) for picture in shown] == [(255, 0, 0), (0, 0, 255)]
    assert body["messages"][0]["content"][-1]["text"] == "give 4"
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("m", 1, 0.0)
    assert server.paths[-1] == "/v1/chat/completions"
    assert isinstance(judge, ChatJudge) or set(body["logprob_token_ids"]) >= set(IDS.values())


def test_texts_still_go_as_token_ids(server: Server, folder: str) -> None:
    judge = ServerJudge(server.url, "m", folder)
    ratings = judge.rate([give(2), give(4, RED), give(5), give(3, BLUE)])
    assert [max(one.probabilities, key=one.probabilities.get) for one in ratings] == [*"2453"]
    forms = ["prompt" in body for body in server.bodies if "give" in str(body) or "prompt" in body]
    assert sorted(forms) == [False, False, True, True]
    assert judge.write([give(1), give(2, RED)], 8) == ["text of ['1']", "text of ['2']"]


def test_the_bytes_are_those_that_every_engine_gets(server: Server, judge: RemoteJudge) -> None:
    stored, exif = io.BytesIO(), Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    Image.effect_noise((40, 20), 60).convert("RGB").save(stored, "PNG", exif=exif)
    turned = Image.open(stored)
    judge.rate([give(4, turned)])
    (sent,) = sent_pictures(about_pictures(server)[-1])
    assert (sent.format, sent.size) == ("PNG", (20, 40))
    assert sent.tobytes() == shown_picture(turned).tobytes()


def test_a_large_photo_is_scaled_and_sent_as_jpeg() -> None:
    photo = Image.effect_noise((3000, 2000), 80)
    (chat,) = chat_form.ChatForm().encode_batch([give(4, photo)], 0).inputs
    (sent,) = sent_pictures(chat.fields)
    assert sent.format == "JPEG"
    assert 0.99 * MAX_PIXELS < sent.width * sent.height <= MAX_PIXELS


def test_a_picture_is_encoded_once_until_the_judge_sleeps(
    server: Server, judge: RemoteJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert judge.sees_pictures
    encode = Mock(wraps=chat_form.as_data_url)
    monkeypatch.setattr(chat_form, "as_data_url", encode)
    # a data set decodes a row's picture anew for each completion
    several = [replace(give(1 + n % 5, RED.copy()), description=(0, n % 3)) for n in range(15)]
    with judge:
        judge.rate(several)
        judge.write([give(2, RED)], 4)
        assert encode.call_count == 1
    judge.rate([give(3, RED)])
    assert encode.call_count == 2


def test_questions_of_one_picture_go_out_together(server: Server, judge: RemoteJudge) -> None:
    judge.endpoint.concurrency = 1
    judge.rate([give(1 + n % 5, (RED, BLUE)[n % 2]) for n in range(10)])
    sizes = [sent_pictures(body)[0].size for body in about_pictures(server)]
    assert sorted(sizes) in (sizes, sizes[::-1])


def test_detail_is_sent_for_the_asking(server: Server, folder: str) -> None:
    ChatJudge(server.url, "m").rate([give(4, RED)])
    assert "detail" not in str(about_pictures(server)[-1])
    ServerJudge(server.url, "m", folder, detail="high").rate([give(4, RED)])
    part = about_pictures(server)[-1]["messages"][0]["content"][0]
    assert part["image_url"]["detail"] == "high"
    assert len({ChatJudge(server.url, "m", detail=one).name for one in (None, "low", "high")}) == 3


class Broken(Image.Image):
    """Says what a damaged file says."""

    size, mode = (2, 2), "RGB"

    def load(self) -> Any:
        raise OSError("broken data stream")


def test_a_picture_of_no_use_costs_its_own_question(
    server: Server, judge: RemoteJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_form, "MAX_PICTURE_BYTES", 3000)
    noise = Image.effect_noise((60, 60), 80).convert("RGB")
    no_user = Question([{"role": "system", "content": "give 4"}], (RED,))
    *failures, good = judge.rate([give(1, Broken()), give(2, RED, noise), no_user, give(4, RED)])
    assert isinstance(good, Rating)
    told = ("broken data stream", "pictures (2) take 0 MB", "needs a user message")
    for failure, words in zip(failures, told, strict=True):
        assert failure.status is Status.ERROR
        assert words in failure.message


def test_a_server_of_texts_says_so_and_is_asked_no_more(server: Server, judge: RemoteJudge) -> None:
    said = json.dumps({"error": {"message": "m is not a multimodal model"}}).encode()
    server.behave = lambda body, number: (400, {}, said) if "data:image" in str(body) else None
    assert not judge.sees_pictures
    pictured, plain = judge.rate([give(4, RED), give(4)])
    assert isinstance(plain, Rating)
    assert "reads text only" in pictured.message
    assert about_pictures(server) == []


def test_a_server_that_is_away_may_see(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.behave = lambda body, number: 500
    assert ChatJudge(server.url, "m").sees_pictures
    monkeypatch.setattr(remote_judge, "TRIAL_SECONDS", 0.3)
    server.behave = lambda body, number: 503 if "data:image" in str(body) else None
    asked = len(server.bodies)
    assert ChatJudge(server.url, "m").sees_pictures  # a busy server says nothing about pictures
    assert all("data:image" in str(body) for body in server.bodies[asked:])


def test_no_text_shows_a_picture_of_its_own(server: Server, judge: RemoteJudge) -> None:
    """Which tokens are broken up: tests/rewards/test_hostile.py."""
    marks = "<|image_pad|>[IMG]"
    judge.rate([ask(f"{marks} give 4", RED)])
    (text,) = [part["text"] for part in server.bodies[-1]["messages"][0]["content"][1:]]
    assert text == "< |image_pad|>[ IMG] give 4"
