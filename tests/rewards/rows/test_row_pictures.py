"""Pictures of rows: what can be opened is shown in RGB, and nothing is downloaded."""

import io
import os
import socket
import struct
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from PIL import Image

from spanreward.rewards.judges.encoding.prompt import picture_of_image as judges_picture
from spanreward.rewards.judges.question import Question, question_keys
from spanreward.rewards.rows import pictures
from spanreward.rewards.rows.pictures import (
    PictureError,
    as_text,
    opened_picture,
    picture_path,
    shown_picture,
)

URLS = ["https://example.org", "http://127.0.0.1:9", "file://127.0.0.1"]
FORMATS = ["PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM"]


def written(image: Image.Image, name: str = "PNG", **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, name, **options)
    return file.getvalue()


def test_every_mode_is_shown_in_rgb_on_white_and_upright() -> None:
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
    sideways = Image.new("RGB", (4, 2), "green")
    sideways.getexif()[0x0112] = 6  # turn by 90 degrees
    assert shown_picture(sideways).size == (2, 4)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([0, 0.5, 1], np.float32),
        ([0, 127.5, 255], np.float32),
        ([-1, 0, 1], np.float32),
        ([0, 32768, 65535], np.float32),
        ([0, 2048, 4095], np.uint16),
        ([0, 128, 255], np.int32),
        ([0, 2**30, 2**31 - 1], np.int32),
    ],
)
def test_no_range_of_values_turns_black_or_white(values: Any, kind: Any) -> None:
    deep = written(Image.fromarray(np.array([values], dtype=kind)), "TIFF")
    dark, grey, white = shown_picture(opened_picture(deep)).get_flattened_data()
    assert (dark, white) == ((0,) * 3, (255,) * 3)
    assert set(grey) <= {127, 128}


def test_what_is_no_number_is_black() -> None:
    image = Image.fromarray(np.array([[np.nan, np.inf, 1]], dtype=np.float32))
    assert list(shown_picture(image).get_flattened_data()) == [(0,) * 3, (0,) * 3, (255,) * 3]


def test_a_hundred_megapixels_are_shrunk_with_their_proportions() -> None:
    shown = shown_picture(Image.new("L", (20_000, 5_000), 7))
    assert shown.width * shown.height <= pictures.MAX_PIXELS
    assert shown.width / shown.height == pytest.approx(4, rel=0.01)
    assert shown_picture(Image.new("RGB", (1, 1))).size == (1, 1)


def test_files_that_are_no_picture_and_a_url(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is downloaded, and nothing is waited for."""
    monkeypatch.setattr(socket, "socket", lambda *_, **__: pytest.fail("a connection was opened"))
    corrupt, text, pipe = tmp_path / "corrupt.png", tmp_path / "text.jpg", tmp_path / "pipe.png"
    corrupt.write_bytes(written(Image.new("RGB", (64, 64), "red"))[:100])
    text.write_text("not a picture")
    os.mkfifo(pipe)
    for told, *paths in (
        ("cannot be read", corrupt, text),
        ("null byte", "red\0.png"),
        ("no plain file", pipe, tmp_path, "/", "/dev/zero"),
        (r"no picture .*none\.png", tmp_path / "none.png", "file:///none.png"),
        ("nothing is downloaded", *(f"{one}/a.png" for one in URLS)),
    ):
        for path in paths:
            with pytest.raises(PictureError, match=told):
                opened_picture(path)


EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n%%EndComments\n"
EPS += b"1 0 0 setrgbcolor 0 0 8 8 rectfill\nshowpage\n"


def test_a_format_that_is_run_is_not_read_whatever_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PIL gives PostScript to Ghostscript."""
    ran = "a program was started"
    monkeypatch.setattr(subprocess, "check_call", lambda *_, **__: pytest.fail(ran))
    path = tmp_path / "red.png"
    path.write_bytes(EPS)
    for picture in (path, {"bytes": EPS}):
        with pytest.raises(PictureError, match=r"none of PNG, JPEG, .*PPM"):
            opened_picture(picture)
    by_hand = Image.open(io.BytesIO(EPS))
    with pytest.raises(PictureError, match="format is EPS"):
        opened_picture(by_hand)
    assert judges_picture(by_hand).image is None
    assert "format is EPS" in judges_picture(by_hand).trouble


@pytest.mark.parametrize("name", FORMATS)
def test_formats_by_name(name: str) -> None:
    shown = opened_picture(written(Image.new("RGB", (4, 4), "white"), name))
    assert shown.convert("RGB").getpixel((0, 0)) == (255, 255, 255)


def bomb(width: int, height: int) -> bytes:
    """A PNG that says it is so large, and holds one line."""
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    content = b"\x89PNG\r\n\x1a\n"
    lines = zlib.compress(bytes(4 * width + 1))
    for chunk in (b"IHDR" + header, b"IDAT" + lines, b"IEND"):
        content += struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
    return content


@pytest.mark.parametrize("size", [(13_000, 13_000), (8_001, 8_000), (60_000, 60_000)])
@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_a_picture_too_large_to_be_decoded_is_not(
    size: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", lambda _: pytest.fail("it was decoded"))
    with pytest.raises(PictureError, match=r"64,000,000: scale it down|exceeds limit"):
        opened_picture({"bytes": bomb(*size)})


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_damaged_picture_is_one_sentence(name: str, data: Any) -> None:
    gradient = Image.radial_gradient("L").resize((16, 16)).convert("RGB")
    content = bytearray(written(gradient, name))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    part = bytes(content[: data.draw(st.integers(1, len(content)))])
    said = ""
    try:
        shown_picture(opened_picture(part))
    except PictureError as error:
        said = str(error)
    assert "\n" not in said


def test_the_red_box() -> None:
    marked = pictures.with_box(Image.new("L", (20, 10)), (5, 2, 15, 8))
    red = {(x, y) for x in range(20) for y in range(10) if marked.getpixel((x, y)) == (255, 0, 0)}
    inside = {(x, y) for x in range(6, 14) for y in range(3, 7)}
    frame = {(x, y) for x in range(5, 15) for y in range(2, 8)} - inside
    assert red == frame
    assert pictures.with_box(Image.new("RGB", (1, 1)), (0, 0, 1, 1)).getpixel((0, 0)) == (255, 0, 0)
    # the box of a large picture is scaled with it
    marked = pictures.with_box(Image.new("RGB", (8192, 2048)), (4096, 0, 8192, 2048))
    assert marked.size == (4096, 1024)
    colours = [marked.getpixel((x, 512)) for x in (2048, 2000)]
    assert colours == [(255, 0, 0), (0, 0, 0)]


OUTSIDE = [(0, 0, 21, 5), (-1, 0, 5, 5), (5, 5, 5, 8), (8, 2, 4, 6), (0, 0, float("nan"), 5)]


@pytest.mark.parametrize("box", OUTSIDE)
def test_a_box_outside_the_picture(box: Any) -> None:
    with pytest.raises(PictureError, match="20 x 10 pixels"):
        pictures.with_box(Image.new("RGB", (20, 10)), box)


def test_a_path_goes_from_the_rows_folder_and_then_from_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, working = tmp_path / "rows", tmp_path / "working"
    for folder, width in ((rows, 1), (working, 2)):
        folder.mkdir()
        Image.new("RGB", (width, 1)).save(folder / "both.png")
    Image.new("RGB", (3, 1)).save(working / "here.png")
    monkeypatch.chdir(working)
    for name, path in (("both.png", f"{rows}/both.png"), ("here.png", "here.png")):
        for picture in (name, Path(name), {"path": name, "bytes": None}, {"image": name}):
            assert picture_path(picture, rows) == path
            assert opened_picture(picture, rows).size == opened_picture(path).size
    with pytest.raises(PictureError, match=f"no picture {rows / 'none.png'}"):
        opened_picture("none.png", rows)


def test_what_names_no_file_stays_as_it_is(tmp_path: Path) -> None:
    encoded = as_text(Image.new("RGB", (1, 1)))
    content = {"bytes": written(Image.new("RGB", (1, 1))), "path": "a.png"}
    for picture in ("none.png", "http://127.0.0.1/a.png", encoded, content, "a" * 5000, 7, None):
        assert picture_path(picture, tmp_path) is picture
    for picture in (encoded, content):
        assert opened_picture(picture, tmp_path).size == (1, 1)


def seen_by_a_reward(image: Image.Image) -> tuple[list[str], str]:
    """The key of a question about the picture, and the picture as it is sent."""
    return question_keys([Question([], images=(image,))]), as_text(image)


def test_threads_that_share_an_unread_picture_see_the_same(request: pytest.FixtureRequest) -> None:
    """Rewards of a step share a row's picture. PIL reads its pixels and its EXIF when they are used."""
    exif = Image.Exif()
    exif[0x0112] = 6  # turn by 90 degrees
    content = written(Image.effect_noise((64, 32), 50), "JPEG", exif=exif)
    expected = seen_by_a_reward(Image.open(io.BytesIO(content)))
    interval = sys.getswitchinterval()
    request.addfinalizer(lambda: sys.setswitchinterval(interval))
    sys.setswitchinterval(1e-6)
    with ThreadPoolExecutor(8) as threads:
        for _ in range(20):
            shared = Image.open(io.BytesIO(content))
            assert list(threads.map(seen_by_a_reward, [shared] * 8)) == [expected] * 8
