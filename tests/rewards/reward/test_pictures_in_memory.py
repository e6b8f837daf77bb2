"""Pictures of rows are decoded one at a time, and kept at the size that a judge sees."""

import asyncio
import io
from typing import Any

import pytest
from PIL import Image

from spanreward.rewards.base.verdict import Sample, Verdict
from spanreward.rewards.reward import batching
from spanreward.rewards.reward.batching import BatchingReward, batch_size
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.reward.rows import evidence_of_sample, open_pictures
from spanreward.rewards.rows import pictures
from spanreward.rewards.rows.pictures import MAX_PIXELS, MOST_PICTURES, as_text, opened_picture

LARGE = (3000, 2000)


def content(form: str, size: tuple[int, int] = LARGE, **options: Any) -> bytes:
    file = io.BytesIO()
    Image.radial_gradient("L").resize(size).convert("RGB").save(file, form, **options)
    return file.getvalue()


@pytest.mark.parametrize("form", ["JPEG", "WEBP", "PNG"])
def test_a_row_holds_what_a_judge_sees(form: str) -> None:
    sample = Sample("", "x", images=({"bytes": content(form)},))
    ((image,), _) = evidence_of_sample(sample, "picture")
    assert MAX_PIXELS * 0.99 < image.width * image.height <= MAX_PIXELS
    assert image.mode == "RGB"
    shown = pictures.shown_picture(opened_picture(sample.images[0]))
    assert image.size == shown.size
    if form != "JPEG":  # which is scaled while it is decoded
        assert image.tobytes() == shown.tobytes()


def test_a_jpeg_is_scaled_while_it_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[tuple[int, int]] = []

    def loaded(image: Image.Image) -> Image.Image:
        image.load()
        decoded.append(image.size)
        return image

    monkeypatch.setattr(pictures, "loaded_image", loaded)
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    photo = content("JPEG", (6000, 4000), exif=exif)
    (image,) = open_pictures([{"bytes": photo}])
    assert decoded == [(3000, 2000)]
    assert image.width < image.height
    mean = sum(image.resize((1, 1)).getpixel((0, 0)))
    assert mean == pytest.approx(sum(opened_picture(photo).resize((1, 1)).getpixel((0, 0))), abs=6)


def test_a_picture_that_somebody_holds_stays_it() -> None:
    image = Image.new("RGB", (2100, 2100))
    assert all(one is image for one in open_pictures([image] * MOST_PICTURES))
    small = content("JPEG", (40, 30))
    assert open_pictures([small])[0].tobytes() == opened_picture(small).tobytes()
    photo = {"bytes": content("JPEG")}  # and it is the same elsewhere
    assert opened_picture(as_text(photo)).tobytes() == open_pictures([photo])[0].tobytes()


def test_a_box_counts_pixels_of_the_whole_picture() -> None:
    (image, other) = open_pictures([content("PNG")] * 2, (1500, 0, 3000, 1000))
    assert image.size == other.size
    right = image.getpixel((image.width - 1, 0))
    assert right == (255, 0, 0)
    assert image.getpixel((image.width // 2 - 20, 0))[0] != 255


@pytest.mark.parametrize(
    ("counts", "size"),
    [([], 0), ([0] * 300, 256), ([1] * 100, 64), ([100, 1], 1), ([40, 30], 1), ([60, 4, 0, 1], 3)],
)
def test_a_batch_holds_so_many_pictures(counts: list[int], size: int) -> None:
    samples = [Sample("", "x", images=("a.png",) * count) for count in counts]
    assert batch_size(samples) == size


def test_what_does_not_fit_into_a_batch_is_judged_in_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batching, "BATCH_PICTURES", 3)
    sizes: list[int] = []

    class Counting(Reward):
        def assess(self, samples: Any) -> list[Verdict]:
            sizes.append(len(samples))
            return [Verdict(0.5) for _ in samples]

    reward = BatchingReward(Counting("counting"))
    samples = [Sample("", "x", images=("a.png",))] * 7
    assert asyncio.run(reward.verdicts(samples)) == [Verdict(0.5)] * 7
    assert sizes == [3, 3, 1]
