"""Pictures that are small in a body and large in memory."""

import base64
import io
from typing import Any

from PIL import Image

from experiments.attack.server import JUDGES, serving

SIDE = 8000  # pixels; 8000 x 8000 is the most that is decoded
TOGETHER = 4  # in one row; more would end the machine before the mend
PHOTOS = 8  # of 24 million pixels, each in a row of its own


def blank(form: str, width: int, height: int = 0) -> str:
    """Returns a picture of one colour as a data URL."""
    content = io.BytesIO()
    Image.new("RGB", (width, height or width), "white").save(content, form)
    encoded = base64.b64encode(content.getvalue()).decode()
    return f"data:image/{form.lower()};base64,{encoded}"


def large_pictures() -> dict[str, Any]:
    """How much memory does one request take?"""
    webp = blank("WEBP", SIDE)
    photo = blank("JPEG", 6000, 4000)
    row = {"completion": "A red circle.", "images": [webp] * TOGETHER}
    rows = [{"completion": "A red circle.", "image": photo} for _ in range(PHOTOS)]
    with serving("harmonic", "--judge", f"{JUDGES}:seeing") as server:
        idle = server.peak()
        status, _ = server.post({"rows": [row]})
        peak = server.peak() - idle
    with serving("harmonic", "--judge", f"{JUDGES}:seeing") as server:
        idle = server.peak()
        server.post({"rows": rows})
        photos = server.peak() - idle
        many, _ = server.post({"rows": [{"completion": "x", "images": [blank("PNG", 8)] * 1000}]})
    return {
        f"{TOGETHER} WEBPs of 64 Mpx in a row, {len(webp) * TOGETHER // 1000} kB: status": status,
        f"{TOGETHER} WEBPs of 64 Mpx in a row: MB more at the peak": round(peak),
        f"{PHOTOS} photos of 24 Mpx in {PHOTOS} rows: MB more at the peak": round(photos),
        "1,000 pictures in a row: status": many,
    }
