"""Pictures of rows: what can be opened is shown in RGB, what cannot is one sentence, and nothing is downloaded."""

import io
import socket

import numpy as np
import pytest
from PIL import Image

from rewards.pictures import MAX_PIXELS, PictureError, opened, shown_picture, with_box


def png(image: Image.Image) -> bytes:
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def test_a_file_its_bytes_and_the_picture_are_the_same(tmp_path):
    image = Image.new("RGB", (3, 2), "red")
    path = tmp_path / "red.png"
    path.write_bytes(png(image))
    for picture in (path, str(path), {"path": str(path), "bytes": None}, {"bytes": png(image), "path": None}, image):
        assert opened(picture).tobytes() == image.tobytes()


def test_modes():
    half = Image.new("RGBA", (2, 1), (255, 0, 0, 0))
    half.putpixel((1, 0), (255, 0, 0, 255))
    assert list(shown_picture(half).get_flattened_data()) == [(255, 255, 255), (255, 0, 0)]
    palette = Image.new("RGB", (4, 4), "blue").convert("P")
    assert shown_picture(palette).getpixel((0, 0)) == (0, 0, 255)
    deep = Image.fromarray(np.array([[0, 32768, 65535]], dtype=np.uint16))
    assert deep.mode == "I;16"
    assert list(shown_picture(deep).get_flattened_data()) == [(0,) * 3, (128,) * 3, (255,) * 3]
    for mode in ("1", "L", "LA", "CMYK", "YCbCr", "I", "F"):
        assert shown_picture(Image.new(mode, (1, 1))).mode == "RGB"


def test_a_camera_held_sideways():
    image = Image.new("RGB", (4, 2), "green")
    image.getexif()[0x0112] = 6  # turn by 90 degrees
    assert shown_picture(image).size == (2, 4)


def test_a_hundred_megapixels_are_shrunk_with_their_proportions():
    shown = shown_picture(Image.new("L", (20_000, 5_000), 7))
    assert shown.width * shown.height <= MAX_PIXELS
    assert shown.width / shown.height == pytest.approx(4, rel=0.01)
    assert shown_picture(Image.new("RGB", (1, 1))).size == (1, 1)


@pytest.mark.parametrize("url", ["https://example.org/cat.jpg", "http://127.0.0.1:9/cat.jpg", "file:///etc/hostname"])
def test_a_url_is_refused_and_nothing_is_downloaded(url, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    with pytest.raises(PictureError, match="is a URL, and nothing is downloaded: give a file or a PIL image"):
        opened(url)


def test_files_that_are_no_picture(tmp_path):
    corrupt = tmp_path / "corrupt.png"
    corrupt.write_bytes(png(Image.new("RGB", (64, 64), "red"))[:100])
    text = tmp_path / "text.jpg"
    text.write_text("not a picture")
    for path in (corrupt, text):
        with pytest.raises(PictureError, match="cannot be decoded"):
            opened(path)
    with pytest.raises(PictureError, match=r"there is no picture .*none\.png"):
        opened(tmp_path / "none.png")
    for other in (7, {"bytes": None, "path": None}, ["a.png"]):
        with pytest.raises(PictureError, match="a picture is a PIL image or the path of a file, got"):
            opened(other)


def test_the_red_box():
    marked = with_box(Image.new("L", (20, 10)), (5, 2, 15, 8))
    red = {(x, y) for x in range(20) for y in range(10) if marked.getpixel((x, y)) == (255, 0, 0)}
    inside = {(x, y) for x in range(6, 14) for y in range(3, 7)}
    frame = {(x, y) for x in range(5, 15) for y in range(2, 8)} - inside
    assert red == frame
    assert with_box(Image.new("RGB", (1, 1)), (0, 0, 1, 1)).getpixel((0, 0)) == (255, 0, 0)


def test_the_box_of_a_large_picture_is_scaled_with_it():
    marked = with_box(Image.new("RGB", (8192, 2048)), (4096, 0, 8192, 2048))
    assert marked.size == (4096, 1024)
    assert marked.getpixel((2048, 512)) == (255, 0, 0)
    assert marked.getpixel((2000, 512)) == (0, 0, 0)


@pytest.mark.parametrize("box", [(0, 0, 21, 5), (-1, 0, 5, 5), (5, 5, 5, 8), (8, 2, 4, 6), (0, 0, float("nan"), 5)])
def test_a_box_outside_the_picture(box):
    with pytest.raises(PictureError, match=r"must be x0 < x1 and y0 < y1 within the picture of 20 x 10 pixels"):
        with_box(Image.new("RGB", (20, 10)), box)
