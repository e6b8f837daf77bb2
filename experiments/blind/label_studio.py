"""Label Studio's two files: the labelling interface and the tasks.

Texts are data of a task, never part of the interface, where they could be markup. Its Text tag
shows them as they are.
"""

import base64
import io
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

from experiments.blind.questions import ANSWERS, QUESTIONS


def interface(shown: set[str]) -> str:
    """Returns the labelling interface as XML. shown: which of image, request and reference the
    tasks have.
    """
    view = ElementTree.Element("View")
    ElementTree.SubElement(view, "Style").text = ".htx-text { white-space: pre-wrap; }"
    if "image" in shown:
        ElementTree.SubElement(view, "Image", name="image", value="$image")
    for name, heading in (("request", "The request"), ("reference", "A correct description")):
        if name in shown:
            ElementTree.SubElement(view, "Header", value=heading)
            text_of(view, name)
    columns = ElementTree.SubElement(
        view, "View", style="display: grid; grid-template-columns: 1fr 1fr; gap: 2em"
    )
    for number in ("1", "2"):
        column = ElementTree.SubElement(columns, "View")
        ElementTree.SubElement(column, "Header", value=f"Text {number}")
        text_of(column, f"text{number}")
    for name, question in QUESTIONS.items():
        ElementTree.SubElement(view, "Header", value=question)
        how = {
            "name": name,
            "toName": "text1",
            "choice": "single",
            "showInline": "true",
            "required": "true",
        }
        choices = ElementTree.SubElement(view, "Choices", how)
        for answer in ANSWERS:
            ElementTree.SubElement(choices, "Choice", value=answer)
    ElementTree.indent(view)
    return ElementTree.tostring(view, encoding="unicode") + "\n"


def text_of(parent: ElementTree.Element, name: str) -> None:
    ElementTree.SubElement(parent, "Text", name=name, value=f"${name}", valueType="text")


def task(shown: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a task. shown: pair, text1, text2, and perhaps request, reference and image, a PIL
    picture. The task holds the picture itself, as a PNG in a data: URI, so that nothing has to be
    served.
    """
    data = dict(shown)
    if "image" in data:
        buffer = io.BytesIO()
        data["image"].convert("RGB").save(buffer, format="PNG")
        data["image"] = "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
    return {"data": data}
