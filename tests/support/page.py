"""An HTML page as a test reads it."""

from html.parser import HTMLParser
from typing import Any


class Page(HTMLParser):
    """Every tag with its attributes, and the text of every element of class `text`."""

    def __init__(self, html: Any) -> None:
        super().__init__()
        self.tags: list[Any] = []
        self.texts: list[str] = []
        self.inside = False
        self.feed(html)

    def handle_starttag(self, tag: Any, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "p":
            self.inside = "text" in (dict(attrs).get("class") or "").split()
            self.texts += [""] if self.inside else []

    def handle_endtag(self, tag: Any) -> None:
        self.inside = self.inside and tag != "p"

    def handle_data(self, data: Any) -> None:
        if self.inside:
            self.texts[-1] += data
