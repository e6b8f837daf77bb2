"""Opens the pictures of a row and prepares them for a judge.

    picture = opened_picture(row["image"])         # a decoded PIL image, or a PictureError
    shown_picture(picture).mode                    # RGB
    as_text(picture)                               # data:image/png;base64,iVBOR..., for HTTP
    with_box(picture, (10, 20, 60, 80))            # with a red box, for a referring expression

URLs are refused, so nothing is downloaded. Only regular files of the PICTURE_FORMATS are read,
because PIL would run Ghostscript on a PostScript file. Larger pictures than DECODED_PIXELS are
refused. The ending of a file's name does not matter.

Pictures for a judge are decoded one at a time, and scaled to the size that the judge sees.
Otherwise a request of 50 kB could hold fifteen pictures that need 256 MB of memory each.
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
from spanreward.rewards.rows.picture_forms import (
    BASE64_URL_START,
    content_of_picture,
    is_printed_object,
    name_of,
)

MAX_PIXELS = 2048 * 2048  # about 5300 tokens of Qwen2.5-VL, whose own limit is three times that
LOSSLESS_PIXELS = 1024 * 1024  # a larger photo takes a second or more as PNG, and several MB
LOSSLESS_BYTES = 1_000_000
DECODED_PIXELS = 64_000_000  # decoding so many with transparency takes 1.8 GB
MOST_PICTURES = 64  # pictures of a row; 64 pictures of MAX_PIXELS need 800 MB
PICTURE_FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM")  # PIL's names
RED_RGB = (255, 0, 0)
# PIL reads the pixels and the EXIF data of an image at their first use. Rewards in several threads
# share the image of a row, so this lock lets only one thread read at a time.
PICTURE_LOCK = Lock()


class PictureError(NotApplicable):
    """A picture or its box cannot be used. The message has the reason."""


def opened_picture(
    picture: Any, folder: Path = Path(), pixels: int = DECODED_PIXELS
) -> Image.Image:
    """Returns the decoded picture.

    picture: a PIL image, a path, a file URL, a data URL, base64, bytes, or a dict with "bytes" or
    "path" (the form of `datasets`). folder: the folder in which the path begins. pixels: a larger
    picture is scaled to so many pixels (`shown_picture`). A PIL image is never scaled, because its
    memory is already in use.

    Raises PictureError for other values, for other URLs, and for a file that does not exist or
    cannot be decoded.
    """
    source = _source_of_picture(picture_path(picture, folder))
    # the path or URL in errors, "" for bytes and for a PIL image
    name = source[:200] if isinstance(source, str) else ""
    if "://" in name:
        raise PictureError(
            f"the picture {name!r} is a URL, and nothing is downloaded: give a file or a PIL image"
        )
    try:
        if isinstance(source, Image.Image):
            return loaded_image(source)
        return _decoded_file(open_file(source), pixels)
    except FileNotFoundError:
        # A relative path begins in the working folder. If the path is written in a file of rows, it
        # begins in this file's folder.
        raise PictureError(
            f"there is no picture {folder / name}: paths go from the working folder, in a file of "
            "rows from its own"
        ) from None
    except PictureError as error:
        label = "the picture of this row"
        if name:
            label = repr(name)
        elif isinstance(picture, str) and isinstance(source, io.BytesIO):
            label = f"the base64 {picture[:40]!r}"
        raise PictureError(f"{label} cannot be read as a picture ({error})") from None


def picture_path(picture: Any, folder: Path) -> Any:
    """Returns the path of the file that a picture names.

    The path begins in `folder`, the folder of the file of rows. If no such file exists, the path
    begins in the working folder. A picture that names no existing file is returned unchanged.
    """
    name = name_of(picture)
    if name is None or "://" in name or BASE64_URL_START.match(name):
        return picture
    for path in (folder / name, name):
        if exists(path):
            return str(path)
    return picture


def _source_of_picture(picture: Any) -> Image.Image | io.BytesIO | str:
    """Returns the PIL image, the bytes, or the path or URL of a picture: {"path": "a.png"} gives
    "a.png", and a data URL gives the bytes in it.

    Raises PictureError for a value of another form.
    """
    if isinstance(picture, Image.Image):
        return picture
    # bytes, in any form
    try:
        content = content_of_picture(picture)
    except ValueError as error:
        raise PictureError(str(error)) from None
    if content is not None:
        return io.BytesIO(content)
    # a path or a URL
    name = name_of(picture)
    if name is None:
        held = picture
        if isinstance(picture, Mapping):  # a dict whose "bytes" and "path" are both None
            held = None
        kind = type(held).__name__
        raise PictureError(f"a picture is a PIL image or the path of a file, got {kind}")
    # a text such as "<PIL.Image.Image ...>" or "b'...'" holds no picture
    if is_printed_object(name) and not exists(name):
        raise PictureError(
            f"a picture was written as text, {name[:40]!r}: give its file's path, or the table as "
            "parquet"
        )
    return name


def as_text(picture: Any, scale: bool = True) -> str:
    """Returns the picture as a text for HTTP: a data URL of a PNG.

    picture: any form of a picture that `opened_picture` accepts. scale: whether to scale the
    picture to MAX_PIXELS. Pass False if the row has a box in pixels of the original picture. Raises
    PictureError for a picture that cannot be used.
    """
    pixels = MAX_PIXELS if scale else DECODED_PIXELS
    image = opened_picture(picture, pixels=pixels)
    content = io.BytesIO()
    with _as_picture_errors():
        image = _rgb_image(upright_image(image))
        if scale:
            image = scaled_image(image, MAX_PIXELS)
        # compress little, because every request waits for this step
        image.save(content, "PNG", compress_level=1)
    encoded = base64.b64encode(content.getvalue()).decode()
    return f"data:image/png;base64,{encoded}"


def as_data_url(picture: Image.Image) -> str:
    """Returns a picture that `shown_picture` has made as a data URL.

    The URL holds a PNG, without loss, or a JPEG of high quality if the PNG would be large.
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
    """Returns the picture of a file or of bytes, not decoded yet.

    Raises FileNotFoundError, and PictureError for an unusable file.
    """
    with _as_picture_errors():
        if not isinstance(source, io.BytesIO):
            mode = os.stat(source).st_mode
            if not stat.S_ISREG(mode):  # a pipe or a device may never end
                raise PictureError("it is no plain file")
        return check_image(Image.open(source, formats=PICTURE_FORMATS))


def loaded_image(image: Image.Image) -> Image.Image:
    """Returns the image after decoding its pixels.

    Raises PictureError for an image that cannot be decoded, or of a refused format or size.
    """
    with _as_picture_errors(), PICTURE_LOCK:
        check_image(image).load()
    return image


def _decoded_file(image: Image.Image, pixels: int) -> Image.Image:
    """Returns the decoded image of a file, scaled down to at most `pixels` pixels.

    A JPEG is scaled in two steps. First it is decoded at a half, a quarter or an eighth of its
    size, which saves memory, but with no fewer than `pixels` pixels. Then it is scaled to `pixels`
    pixels.
    """
    if image.width * image.height <= pixels:
        return loaded_image(image)
    with _as_picture_errors():
        # tell PIL the size that is needed at least, for the first step; other formats ignore it
        image.draft(None, _scaled_size(image, pixels))
        return shown_picture(loaded_image(image), pixels)


def upright_image(image: Image.Image) -> Image.Image:
    """Returns a copy of the image, rotated by the orientation in its EXIF data."""
    with PICTURE_LOCK:
        return ImageOps.exif_transpose(image)


def check_image(image: Image.Image) -> Image.Image:
    """Returns the image unchanged. Raises PictureError for a refused format or size."""
    if image.format is None:  # the image does not come from a file
        return image
    if image.format not in (*PICTURE_FORMATS, "MPO"):  # PIL's name for the JPEGs of some phones
        raise PictureError(f"its format is {image.format}, none of {', '.join(PICTURE_FORMATS)}")
    if image.width * image.height > DECODED_PIXELS:
        raise PictureError(
            f"it has {image.width} x {image.height} pixels, more than {DECODED_PIXELS:,}: scale it "
            "down"
        )
    return image


@contextmanager
def _as_picture_errors() -> Iterator[None]:
    """Turns every error of PIL into a PictureError.

    Each format raises its own errors for a damaged file.
    """
    try:
        yield
    except (FileNotFoundError, PictureError):
        raise
    except UnidentifiedImageError:
        raise PictureError(
            f"it is no picture, or damaged, or none of {', '.join(PICTURE_FORMATS)}"
        ) from None
    except Exception as error:
        message = " ".join(str(error).split())[:200]
        raise PictureError(message or type(error).__name__) from None


def shown_picture(image: Image.Image, pixels: int = MAX_PIXELS) -> Image.Image:
    """Returns the image as a judge sees it: RGB, upright, with at most `pixels` pixels.

    Transparent parts become white. An image that needs no change is returned itself, not a copy.
    """
    with PICTURE_LOCK:
        is_upright = image.getexif().get(Base.Orientation, 1) == 1
    if is_upright and image.mode == "RGB" and not image.has_transparency_data:
        return scaled_image(image, pixels)
    return scaled_image(_rgb_image(upright_image(image)), pixels)


def judges_picture(image: Image.Image) -> Image.Image:
    """Returns the image as every judge sees it (`shown_picture`).

    Raises PictureError for an image that cannot be decoded.
    """
    try:
        return shown_picture(loaded_image(image))
    except Exception as error:  # each format raises its own kind of error for a damaged file
        size = f"{image.width} x {image.height}"
        raise PictureError(f"a picture of {size} pixels is of no use: {error}") from None


@dataclass(frozen=True, slots=True)
class Pictures:
    """A transform for a dataset, which turns pictures into the form that judges see.

    Args:
        pixels: the largest number of pixels of a picture.
    """

    pixels: int

    def __call__(self, batch: dict[str, list[Any]]) -> dict[str, list[Any]]:
        """Returns the batch with `shown_picture` of each picture in the column `image`."""
        if "image" not in batch:
            return dict(batch)
        images = [shown_picture(image, self.pixels) for image in batch["image"]]
        return {**batch, "image": images}


def _rgb_image(image: Image.Image) -> Image.Image:
    """Returns the image in mode RGB. Of integers with 16 bits, the upper 8 bits are kept."""
    if image.mode == "F" or image.mode.startswith("I"):
        # modes such as I;16: PIL's own conversion would clip all values above 255
        if image.mode != "F":
            image = image.convert("I")
        grey = eight_bits(np.asarray(image))
        return Image.fromarray(grey).convert("RGB")
    if not image.has_transparency_data:
        return image.convert("RGB")
    # Put the image on white. `convert` alone would show the hidden colours of transparent pixels.
    white = Image.new("RGBA", image.size, "white")
    composite = Image.alpha_composite(white, image.convert("RGBA"))
    return composite.convert("RGB")


def eight_bits(values: np.ndarray) -> np.ndarray:
    """Returns the brightness of each pixel, from 0 to 255.

    The values are scaled from the narrowest usual range that contains all values: 0 to 1, 8 bits,
    12 bits or 16 bits. Other values are scaled from their smallest and largest value. NaN and
    infinite values become 0 before the scaling.
    """
    values = np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0)
    low = float(values.min())
    high = float(values.max())
    if low < 0 or high > 65535:
        above_lowest = values.astype(np.float64) - low
        width = high - low or 1  # 1 if all values are equal
        return (above_lowest * (255 / width)).astype(np.uint8)
    if high <= 1:
        return (values * 255).round().astype(np.uint8)
    # the divisor is 1 for 8 bits, 16 for 12 bits, 256 for 16 bits
    step = 1
    while high >= 256 * step:
        step *= 16
    return (values // step).astype(np.uint8)


def scaled_image(image: Image.Image, pixels: int) -> Image.Image:
    """Returns the image with at most `pixels` pixels, and the same proportions up to rounding."""
    if image.width * image.height <= pixels:
        return image
    # reducing_gap shrinks with a box filter first, which saves time and memory on large pictures
    return image.resize(_scaled_size(image, pixels), Image.Resampling.BICUBIC, reducing_gap=2.0)


def _scaled_size(image: Image.Image, pixels: int) -> tuple[int, int]:
    """Returns the width and height to which a larger image is scaled to have `pixels` pixels."""
    ratio = (pixels / (image.width * image.height)) ** 0.5
    # a very long picture would have a height below 1 pixel: keep 1 pixel, and limit the width
    width = min(max(1, int(image.width * ratio)), pixels)
    height = min(max(1, int(image.height * ratio)), pixels)
    return width, height


def with_box(image: Image.Image, box: tuple[float, float, float, float]) -> Image.Image:
    """Returns the picture as a judge sees it, with a red box.

    box: (x0, y0, x1, y1) in pixels of the upright image before scaling. Raises PictureError for a
    box outside the image.
    """
    width, height = upright_image(image).size
    _check_box(box, width, height)
    x0, y0, x1, y1 = box
    # Draw after scaling, because scaling would make the box's line thinner. Draw on a copy, because
    # `shown_picture` may return the row's own picture.
    marked = shown_picture(image).copy()
    across = marked.width / width
    down = marked.height / height
    left = x0 * across
    top = y0 * down
    # PIL includes the last pixel, so subtract 1; a box of less than a pixel becomes one pixel
    right = max(left, x1 * across - 1)
    bottom = max(top, y1 * down - 1)
    line_width = max(1, round(min(marked.size) / 150))
    drawing = ImageDraw.Draw(marked)
    drawing.rectangle((left, top, right, bottom), outline=RED_RGB, width=line_width)
    return marked


def _check_box(box: tuple[float, float, float, float], width: int, height: int) -> None:
    """Raises PictureError for a box outside a picture of this width and height.

    Some datasets have boxes as shares of the width and the height, such as (0.1, 0.2, 0.5, 0.6).
    These are refused too.
    """
    x0, y0, x1, y1 = box
    is_within_one_pixel = 0 <= x0 < x1 <= 1 and 0 <= y0 < y1 <= 1
    # in a picture that is one pixel wide or high, such a box may be meant in pixels
    are_shares = is_within_one_pixel and width > 1 and height > 1
    if are_shares:
        raise PictureError(
            f"the bbox {tuple(box)} would be of one pixel: it counts pixels, so multiply shares by "
            f"the picture's {width} x {height}"
        )
    if not (0 <= x0 < x1 <= width and 0 <= y0 < y1 <= height):
        raise PictureError(
            f"the bbox {tuple(box)} must be x0 < x1 and y0 < y1 within the picture of {width} x "
            f"{height} pixels"
        )
