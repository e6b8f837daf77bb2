"""Opens the pictures of a row and prepares them for a judge, with the red box of a referring
expression.

    picture = opened(row["image"])                 # a decoded PIL image, or a PictureError
    shown_picture(picture).mode                    # RGB
    as_text(picture)                               # data:image/png;base64,iVBOR..., for HTTP
    with_box(picture, (10, 20, 60, 80))

A URL is refused, so nothing is downloaded. Only plain files are read, only the FORMATS (PIL runs
Ghostscript on a PostScript file), and only pictures of at most DECODED_PIXELS. The name's ending
does not matter. Pictures for a judge are decoded one at a time and kept at the size in which it
sees them: a body of 50 kB may hold fifteen that take 256 MB each.
"""

import base64
import io
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from os.path import exists  # False for a text too long for a path, where Path's raises
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageOps, UnidentifiedImageError
from PIL.ExifTags import Base

from spanreward.rewards.base.verdict import NotApplicable
from spanreward.rewards.rows.picture_forms import ENCODED, content_of_picture, is_shown, name_of

MAX_PIXELS = 2048 * 2048  # about 5300 tokens of Qwen2.5-VL, whose own limit is three times that
LOSSLESS_PIXELS = 1024 * 1024  # a larger photo takes a second or more as PNG, and several MB
LOSSLESS_BYTES = 1_000_000
DECODED_PIXELS = 64_000_000  # decoding so many with transparency takes 1.8 GB
MOST_PICTURES = 64  # of a row; at MAX_PIXELS they take 800 MB
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM")  # PIL's names
RED = (255, 0, 0)
# PIL reads an image's pixels and its EXIF when they are first used, and rewards that are judged in
# several threads share a row's image
PICTURE_LOCK = Lock()


class PictureError(NotApplicable):
    """The picture or its box cannot be used. The message says why."""


def opened(picture: Any, folder: Path = Path(), pixels: int = DECODED_PIXELS) -> Image.Image:
    """Returns the picture decoded.

    picture: a PIL image, a path, a file or data URL, base64, bytes, or a dict with "bytes" or
    "path" (as `datasets` stores them). folder: see `located`. pixels: a picture with more is
    returned as `shown_picture` has it, unless it is a PIL image, which its owner holds anyway.
    Raises PictureError for anything else, for another URL, and for a file that is missing or cannot
    be decoded.
    """
    source = _source(located(picture, folder))
    label = "the picture of this row"
    name = ""
    if isinstance(source, str):
        name = source[:200]
        label = repr(name)
    elif isinstance(picture, str) and isinstance(source, io.BytesIO):
        label = f"the base64 {picture[:40]!r}"
    if "://" in name:
        raise PictureError(
            f"the picture {name!r} is a URL, and nothing is downloaded: give a file or a PIL image"
        )
    try:
        if isinstance(source, Image.Image):
            return loaded(source)
        return _decoded_file(open_file(source), pixels)
    except FileNotFoundError:
        raise PictureError(
            f"there is no picture {folder / name}: paths go from the working folder, in a file of "
            "rows from its own"
        ) from None
    except PictureError as error:
        raise PictureError(f"{label} cannot be read as a picture ({error})") from None


def located(picture: Any, folder: Path) -> Any:
    """Returns the path of the file that a picture names.

    The path goes from `folder`, where the file of rows is, or from the working folder where no such
    file is there. A picture that names no file which is there stays as it is.
    """
    name = name_of(picture)
    if name is None or "://" in name or ENCODED.match(name):
        return picture
    for path in (folder / name, name):
        if exists(path):
            return str(path)
    return picture


def _source(picture: Any) -> Image.Image | io.BytesIO | str:
    """Returns the image, its bytes, or its path or URL. Raises PictureError for anything else."""
    if isinstance(picture, Image.Image):
        return picture
    try:
        content = content_of_picture(picture)
    except ValueError as error:
        raise PictureError(str(error)) from None
    if content is not None:
        return io.BytesIO(content)
    name = name_of(picture)
    if name is None:
        kind = type(picture).__name__
        if isinstance(picture, Mapping):  # it has neither bytes nor a path
            kind = "NoneType"
        raise PictureError(f"a picture is a PIL image or the path of a file, got {kind}")
    if is_shown(name) and not exists(name):
        raise PictureError(
            f"a picture was written as text, {name[:40]!r}: give its file's path, or the table as "
            "parquet"
        )
    return name


def as_text(picture: Any, scale: bool = True) -> str:
    """Returns what `opened` takes as a text for HTTP, a data URL of a PNG.

    scale: to MAX_PIXELS, not where a box counts pixels. Raises PictureError as `opened`.
    """
    pixels = MAX_PIXELS if scale else DECODED_PIXELS
    image = opened(picture, pixels=pixels)
    content = io.BytesIO()
    with _one_reason():
        image = _rgb(upright(image))
        if scale:
            image = scaled(image, MAX_PIXELS)
        # little compression: this is on the way of every request
        image.save(content, "PNG", compress_level=1)
    encoded = base64.b64encode(content.getvalue()).decode()
    return f"data:image/png;base64,{encoded}"


def as_data_url(picture: Image.Image) -> str:
    """Returns a picture of `shown_picture` as a data URL: every pixel as it is (PNG), or nearly so
    (JPEG) where that would be large.
    """
    if picture.width * picture.height <= LOSSLESS_PIXELS:
        content = io.BytesIO()
        picture.save(content, "PNG", compress_level=1)
        if content.tell() <= LOSSLESS_BYTES:
            encoded = base64.b64encode(content.getvalue()).decode()
            return f"data:image/png;base64,{encoded}"
    content = io.BytesIO()
    picture.save(content, "JPEG", quality=95, subsampling=0)
    encoded = base64.b64encode(content.getvalue()).decode()
    return f"data:image/jpeg;base64,{encoded}"


def open_file(source: str | Path | io.BytesIO) -> Image.Image:
    """Returns the picture, not decoded yet.

    Raises FileNotFoundError, and PictureError for an unusable file.
    """
    with _one_reason():
        if not isinstance(source, io.BytesIO):
            mode = os.stat(source).st_mode
            if not stat.S_ISREG(mode):  # a pipe or a device may never end
                raise PictureError("it is no plain file")
        return sound(Image.open(source, formats=FORMATS))


def loaded(image: Image.Image) -> Image.Image:
    """Returns the image decoded. Raises PictureError where it cannot be decoded or is refused."""
    with _one_reason(), PICTURE_LOCK:
        sound(image).load()
    return image


def _decoded_file(image: Image.Image, pixels: int) -> Image.Image:
    """Returns the image of a file decoded, or where it has more pixels, as `shown_picture` has it.

    A JPEG is scaled while it is decoded, to a half, a quarter or an eighth, as long as that has
    more than `pixels`.
    """
    if image.width * image.height <= pixels:
        return loaded(image)
    with _one_reason():
        image.draft(None, _size(image, pixels))
        return shown_picture(loaded(image), pixels)


def upright(image: Image.Image) -> Image.Image:
    """Returns a copy of the image, turned as its EXIF says."""
    with PICTURE_LOCK:
        return ImageOps.exif_transpose(image)


def sound(image: Image.Image) -> Image.Image:
    """Returns the image. Raises PictureError for a format or size that is refused."""
    if image.format is None:  # it does not come from a file
        return image
    if image.format not in (*FORMATS, "MPO"):  # PIL's name for the JPEGs of some phones
        raise PictureError(f"its format is {image.format}, none of {', '.join(FORMATS)}")
    if image.width * image.height > DECODED_PIXELS:
        raise PictureError(
            f"it has {image.width} x {image.height} pixels, more than {DECODED_PIXELS:,}: scale it "
            "down"
        )
    return image


@contextmanager
def _one_reason() -> Iterator[None]:
    """Turns every error of PIL into a PictureError.

    Each format raises its own errors for a damaged file.
    """
    try:
        yield
    except (FileNotFoundError, PictureError):
        raise
    except UnidentifiedImageError:
        raise PictureError(
            f"it is no picture, or damaged, or none of {', '.join(FORMATS)}"
        ) from None
    except Exception as error:
        message = " ".join(str(error).split())[:200]
        raise PictureError(message or type(error).__name__) from None


def shown_picture(image: Image.Image, pixels: int = MAX_PIXELS) -> Image.Image:
    """Returns the image in RGB, upright, on white where it is transparent, with at most so many
    pixels; the image itself where it is all that.
    """
    with PICTURE_LOCK:
        is_upright = image.getexif().get(Base.Orientation, 1) == 1
    if is_upright and image.mode == "RGB" and not image.has_transparency_data:
        return scaled(image, pixels)
    return scaled(_rgb(upright(image)), pixels)


def judges_picture(image: Image.Image) -> Image.Image:
    """Returns the image as every judge sees it. Raises PictureError where it cannot be decoded."""
    try:
        return shown_picture(loaded(image))
    except Exception as error:  # each format raises its own kind for a damaged file
        size = f"{image.width} x {image.height}"
        raise PictureError(f"a picture of {size} pixels is of no use: {error}") from None


@dataclass(frozen=True, slots=True)
class Pictures:
    """A dataset's transform: pictures as judges see them (`shown_picture`).

    Args:
        pixels: those of a picture, at most.
    """

    pixels: int

    def __call__(self, batch: dict[str, list[Any]]) -> dict[str, list[Any]]:
        """Returns the batch with the pictures of its column `image` so."""
        if "image" not in batch:
            return dict(batch)
        images = [shown_picture(image, self.pixels) for image in batch["image"]]
        return {**batch, "image": images}


def _rgb(image: Image.Image) -> Image.Image:
    """Returns the image in mode RGB. Whole numbers of 16 bits keep their upper 8 bits."""
    if image.mode == "F" or image.mode.startswith("I"):
        # I;16 and the like: PIL would clip them at 255
        if image.mode != "F":
            image = image.convert("I")
        grey = eight_bits(np.asarray(image))
        return Image.fromarray(grey).convert("RGB")
    if not image.has_transparency_data:
        return image.convert("RGB")
    # on white: `convert` alone would show the colours that lie under what is transparent
    white = Image.new("RGBA", image.size, "white")
    composite = Image.alpha_composite(white, image.convert("RGBA"))
    return composite.convert("RGB")


def eight_bits(values: np.ndarray) -> np.ndarray:
    """Returns brightness from 0 to 255, by the narrowest usual range that holds the values: 0 .. 1,
    8, 12 or 16 bits; else by their own range. What is no finite number is black.
    """
    values = np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0)
    low = float(values.min())
    high = float(values.max())
    if low < 0 or high > 65535:
        above_lowest = values.astype(np.float64) - low
        width = high - low or 1  # 1 where all values are equal
        return (above_lowest * (255 / width)).astype(np.uint8)
    if high <= 1:
        return (values * 255).round().astype(np.uint8)
    # 1 for 8 bits, 16 for 12 bits, 256 for 16 bits
    step = 1
    while high >= 256 * step:
        step *= 16
    return (values // step).astype(np.uint8)


def scaled(image: Image.Image, pixels: int) -> Image.Image:
    """Returns the image with at most that many pixels and the same proportions, up to rounding."""
    if image.width * image.height <= pixels:
        return image
    # reducing_gap shrinks with a box filter first, which saves time and memory on large pictures
    return image.resize(_size(image, pixels), Image.Resampling.BICUBIC, reducing_gap=2.0)


def _size(image: Image.Image, pixels: int) -> tuple[int, int]:
    """Returns the width and height at which a larger image has at most so many pixels."""
    ratio = (pixels / (image.width * image.height)) ** 0.5
    # a very long one would have less than one pixel in its height, and too many in its width
    width = min(max(1, int(image.width * ratio)), pixels)
    height = min(max(1, int(image.height * ratio)), pixels)
    return width, height


def with_box(image: Image.Image, box: tuple[float, float, float, float]) -> Image.Image:
    """Returns the picture as `shown_picture`, with a red box. Raises PictureError for a box outside
    the image.

    box: (x0, y0, x1, y1) in pixels of the upright image before scaling.
    """
    width, height = upright(image).size
    x0, y0, x1, y1 = box
    # shares of the width and the height, as some data sets have them
    if 0 <= x0 < x1 <= 1 < width and 0 <= y0 < y1 <= 1 < height:
        raise PictureError(
            f"the bbox {tuple(box)} would be of one pixel: it counts pixels, so multiply shares by "
            f"the picture's {width} x {height}"
        )
    if not (0 <= x0 < x1 <= width and 0 <= y0 < y1 <= height):
        raise PictureError(
            f"the bbox {tuple(box)} must be x0 < x1 and y0 < y1 within the picture of {width} x "
            f"{height} pixels"
        )
    # drawn after scaling, which would make its line thinner, and on a copy, as the picture may be
    # the row's own
    marked = shown_picture(image).copy()
    across = marked.width / width
    down = marked.height / height
    left = x0 * across
    top = y0 * down
    # PIL draws the last pixel too; a box of less than a pixel is one pixel
    right = max(left, x1 * across - 1)
    bottom = max(top, y1 * down - 1)
    line_width = max(1, round(min(marked.size) / 150))
    drawing = ImageDraw.Draw(marked)
    drawing.rectangle((left, top, right, bottom), outline=RED, width=line_width)
    return marked
