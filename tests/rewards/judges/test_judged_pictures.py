"""Every judge sees the same pixels: upright, RGB, on white."""

import io
from collections.abc import Sequence
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from PIL import Image

from spanreward import HarmonicReward, Question, Sample, Status
from spanreward.rewards.judges import Judge, Rating, judge as judge_file
from spanreward.rewards.judges.judge import rating_of
from spanreward.rewards.rows.pictures import judges_picture, shown_picture
from tests.support.tiny_models import ask


def picture(mode: str) -> Image.Image:
    if mode.startswith("I;16"):
        return Image.fromarray(np.arange(8, dtype=np.uint16).reshape(2, 4) * 8000)
    image = Image.effect_noise((4, 2), 90).convert("RGB")
    if mode == "turned":
        exif = Image.Exif()
        exif[0x0112] = 6  # by a quarter
        file = io.BytesIO()
        image.save(file, "PNG", exif=exif)
        return Image.open(io.BytesIO(file.getvalue()))
    if mode == "P with transparency":
        image = image.convert("P")
        image.info["transparency"] = 0
        return image
    return image.convert(mode)


MODES = ("1", "L", "LA", "P", "P with transparency", "RGBA", "CMYK", "I;16", "RGB", "turned")


class Camera(Judge):
    """Keeps what it is shown, and writes it as PNG."""

    name = "camera"

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def look(self, questions: Sequence[Question]) -> None:
        for question in questions:
            for image in question.images:
                image.save(io.BytesIO(), "PNG")
                self.seen.append(image)

    def rate_each(self, questions: Sequence[Question], scale: Sequence[str]) -> list[Rating]:
        self.look(questions)
        return [rating_of(3, scale) for _ in questions]

    def write_each(self, questions: Sequence[Question], max_tokens: int) -> list[str]:
        self.look(questions)
        return ["x" for _ in questions]


class OwnRate(Camera):
    """Defines `rate` and `write` themselves."""

    def rate(self, questions: Any, scale: Any = ("1", "2", "3")) -> Any:
        return self.rate_each(questions, scale)

    def write(self, questions: Any, max_tokens: int) -> Any:
        return self.write_each(questions, max_tokens)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", [Camera, OwnRate])
def test_a_judge_of_ones_own_sees_what_others_see(kind: type[Camera], mode: str) -> None:
    judge, stored = kind(), picture(mode)
    judge.rate([ask("a", stored)])
    judge.write([ask("a", stored)], 8)
    assert len(judge.seen) == 2
    for seen in judge.seen:
        assert (seen.mode, seen.size) == ("RGB", (2, 4) if mode == "turned" else (4, 2))
        assert seen.tobytes() == shown_picture(stored).tobytes()
        assert shown_picture(seen) is seen


def test_a_metric_shows_it_so_too() -> None:
    judge = Camera()
    rows = [Sample("", "A.", images=(picture(mode),)) for mode in MODES]
    assert {verdict.status for verdict in HarmonicReward(judge).assess(rows)} == {Status.OK}
    assert {seen.mode for seen in judge.seen} == {"RGB"}


def test_a_picture_of_many_questions_is_converted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    convert = Mock(wraps=judges_picture)
    monkeypatch.setattr(judge_file, "judges_picture", convert)
    judge, stored, plain = Camera(), picture("CMYK"), picture("RGB")
    judge.rate([ask(f"{number}", stored) for number in range(20)])
    judge.rate([ask(f"{number}", plain) for number in range(20)])
    assert [call.args[0] for call in convert.call_args_list] == [stored, plain]
    assert len({id(seen) for seen in judge.seen}) == 2
    assert judge.seen[-1] is plain
