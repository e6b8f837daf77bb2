"""Pictures as rows hold them, as a judge is shown them, and the red box of a referring expression.

    picture = opened(row["image"])                 # a decoded PIL image, or PictureError with one sentence
    shown_picture(picture).mode                    # RGB
    with_box(picture, (10, 20, 60, 80))

Nothing is downloaded: a URL is refused, not followed. Only plain files of FORMATS are read, whatever their name says (a
PostScript file would be run, by Ghostscript), and only pictures of at most DECODED_PIXELS.
"""

import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageOps, UnidentifiedImageError

MAX_PIXELS = 2048 * 2048  # some 5300 tokens to Qwen2.5-VL, whose own limit is three times that
DECODED_PIXELS = 64_000_000  # of a file; with transparency they take 1.8 GB on their way
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM")  # PIL's names
RED = (255, 0, 0)


class PictureError(ValueError):
    """The picture, or the box in it, cannot be used; the message says why."""


def opened(picture: Any) -> Image.Image:
    """picture: a PIL image, the path of a file, or a dict with its "bytes" or "path" (as `datasets` stores them).

    Raises PictureError for anything else, a URL, and a file that is missing or cannot be decoded.
    """
    source = picture
    if isinstance(picture, dict):
        content = picture.get("bytes")
        source = io.BytesIO(content) if isinstance(content, bytes) else picture.get("path")
    if isinstance(source, str) and "://" in source:
        raise PictureError(f"the picture {source!r} is a URL, and nothing is downloaded: give a file or a PIL image")
    if not isinstance(source, (Image.Image, io.BytesIO, str, Path)):
        raise PictureError(f"a picture is a PIL image or the path of a file, got {type(source).__name__}")
    shown = source if isinstance(source, (str, Path)) else "of this row"
    try:
        return loaded(source if isinstance(source, Image.Image) else open_file(source))
    except FileNotFoundError:
        raise PictureError(f"there is no picture {shown}: give a path from the working folder") from None
    except PictureError as error:
        raise PictureError(f"the picture {shown} cannot be decoded: {error}") from None


def open_file(source: str | Path | io.BytesIO) -> Image.Image:
    """The picture, of which only the beginning is read. Raises FileNotFoundError; PictureError, whose message is why,
    for all else that keeps it from being one: no plain file, no picture, of another format, too large.
    """
    with one_reason():
        if not isinstance(source, io.BytesIO) and not stat.S_ISREG(os.stat(source).st_mode):
            raise PictureError("it is no plain file")
        return sound(Image.open(source, formats=FORMATS))


def loaded(image: Image.Image) -> Image.Image:
    """The image, decoded. Raises PictureError, whose message is why, where that cannot or must not be."""
    with one_reason():
        sound(image).load()
    return image


def sound(image: Image.Image) -> Image.Image:
    """The image, which may be read from its file. Raises PictureError for a format or a size that is not."""
    if image.format is None:  # it is from no file
        return image
    if image.format not in (*FORMATS, "MPO"):  # what PIL calls the JPEGs of some phones
        raise PictureError(f"its format is {image.format}, none of {', '.join(FORMATS)}")
    if image.width * image.height > DECODED_PIXELS:
        raise PictureError(f"it has {image.width} x {image.height} pixels, more than {DECODED_PIXELS:,}: scale it down")
    return image


@contextmanager
def one_reason() -> Iterator[None]:
    """Whatever PIL raises within as PictureError; each format has its own for a damaged file."""
    try:
        yield
    except (FileNotFoundError, PictureError):
        raise
    except UnidentifiedImageError:
        raise PictureError(f"it is no picture, or damaged, or none of {', '.join(FORMATS)}") from None
    except Exception as error:
        raise PictureError(" ".join(str(error).split()) or type(error).__name__) from None


def shown_picture(image: Image.Image) -> Image.Image:
    """The image in RGB, upright, on white where it is transparent, with MAX_PIXELS at most.

    Raises whatever decoding it raises.
    """
    return scaled(rgb(ImageOps.exif_transpose(image)), MAX_PIXELS)


def rgb(image: Image.Image) -> Image.Image:
    """The image in mode RGB; of 16 bits the upper 8."""
    if image.mode.startswith("I"):  # I;16 and its like, and what PIL makes of them; PIL itself would clip at 255
        values = np.asarray(image.convert("I")).clip(0, 65535)
        return Image.fromarray((values // 256).astype(np.uint8)).convert("RGB")
    if not image.has_transparency_data:
        return image.convert("RGB")
    layer = image.convert("RGBA")
    white = Image.new("RGBA", layer.size, "white")
    return Image.alpha_composite(white, layer).convert("RGB")


def scaled(image: Image.Image, pixels: int) -> Image.Image:
    """The image with at most that many pixels, its proportions kept as far as whole numbers allow."""
    if image.width * image.height <= pixels:
        return image
    ratio = (pixels / (image.width * image.height)) ** 0.5
    width, height = max(1, int(image.width * ratio)), max(1, int(image.height * ratio))
    # a box filter does the larger part: the memory and the time of a large picture
    return image.resize((min(width, pixels), min(height, pixels)), Image.Resampling.BICUBIC, reducing_gap=2.0)


def with_box(image: Image.Image, box: tuple[float, float, float, float]) -> Image.Image:
    """The picture as it is shown, with a red line along (x0, y0, x1, y1): pixels of the upright image before scaling.

    Raises PictureError for a box that is not x0 < x1, y0 < y1 within the image.
    """
    upright = ImageOps.exif_transpose(image)
    width, height = upright.size
    x0, y0, x1, y1 = box
    if not (0 <= x0 < x1 <= width and 0 <= y0 < y1 <= height):
        raise PictureError(
            f"the bbox {tuple(box)} must be x0 < x1 and y0 < y1 within the picture of {width} x {height} pixels"
        )
    marked = shown_picture(image).copy()
    right, down = marked.width / width, marked.height / height
    corners = (x0 * right, y0 * down, max(x0 * right, x1 * right - 1), max(y0 * down, y1 * down - 1))
    ImageDraw.Draw(marked).rectangle(corners, outline=RED, width=max(1, round(min(marked.size) / 150)))
    return marked
