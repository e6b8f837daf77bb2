"""A page in a real browser, without a window. Needs Debian's chromium."""

import html
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
    "--virtual-time-budget=2000",
    "--hide-scrollbars",
]
needs_chromium = pytest.mark.skipif(
    not CHROMIUM.exists(), reason="/usr/bin/chromium is missing: apt-get install chromium"
)


def browse(page: Any, *flags: Any) -> Any:
    """Chromium's standard output for `page`, and what reached the console."""
    profile = page.parent / "profile"
    command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={profile}", *flags, page.resolve().as_uri()]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return run.stdout, re.findall(r"CONSOLE.*", run.stderr)


def framed(page: Any, width: Any) -> Any:
    """A page that shows `page` at `width` pixels (a window cannot be that narrow) and then says how wide it came out.

    As srcdoc it has its frame's origin, so that the frame's script may measure it.
    """
    frame = page.with_name(f"frame{width}.html")
    frame.write_text(
        f"""<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">
<style>body {{ margin: 0 }} iframe {{ border: 0 }}</style>
<iframe width="{width}" height="9000" srcdoc="{html.escape(page.read_text(encoding="utf-8"))}"></iframe><pre></pre>
<script>onload = () => {{
  const inner = document.querySelector("iframe").contentDocument, root = inner.documentElement
  const wide = [...inner.querySelectorAll("body *")].filter(e => !e.closest(".scroll *, svg *") &&
    e.getBoundingClientRect().right > {width} + 0.5).map(e => e.outerHTML.slice(0, 80))
  const marks = inner.querySelectorAll("mark").length
  document.querySelector("pre").textContent =
    "measured" + JSON.stringify({{ width: root.scrollWidth, height: inner.body.offsetHeight, marks, wide }}) + "end"
}}</script>""",
        encoding="utf-8",
    )
    return frame


def measure(page: Any, width: Any) -> Any:
    dom, console = browse(framed(page, width), "--dump-dom", "--window-size=1280,2000")
    return json.loads(html.unescape(re.search(r"measured(.*?)end", dom, re.DOTALL)[1])), console
