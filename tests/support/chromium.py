"""A page in a real browser, without a window. Needs Debian's chromium."""

import html
import json
import re
import resource
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--enable-logging=stderr", "--virtual-time-budget=2000", "--hide-scrollbars",
]  # fmt: skip
needs_chromium = pytest.mark.skipif(
    not CHROMIUM.exists(), reason="/usr/bin/chromium is missing: apt-get install chromium"
)


def browse(page: Any, *flags: Any) -> Any:
    """Chromium's standard output for `page`, and what reached the console."""
    profile = page.parent / "profile"
    command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={profile}", *flags, page.resolve().as_uri()]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return run.stdout, re.findall(r"CONSOLE.*", run.stderr)


def opening_seconds(page: Any) -> float:
    """Seconds of a core that the browser takes to paint `page`, less those of an empty one."""
    empty = page.with_name("empty.html")
    empty.write_text("<!doctype html><title>empty</title>")
    flags = [flag for flag in FLAGS if "virtual-time" not in flag]
    flags += ["--single-process", "--no-zygote", f"--user-data-dir={page.parent / 'profile'}"]
    flags += [f"--screenshot={page.with_suffix('.png')}"]
    seconds = []
    for one in (empty, page):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [str(CHROMIUM), *flags, one.resolve().as_uri()]
        subprocess.run(command, capture_output=True, timeout=120, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return seconds[1] - seconds[0]


def found_in(page: Any, script: str, width: int = 1280, height: int = 900) -> Any:
    """What the script returns once `page` has loaded in a frame at `width` pixels (a window cannot be
    that narrow), and what reached the console. `inner` is the page's document.

    As srcdoc it has its frame's origin, so that the frame's script may look into it.
    """
    frame = page.with_name(f"frame{width}.html")
    frame.write_text(
        f"""<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">
<style>body {{ margin: 0 }} iframe {{ border: 0 }}</style>
<iframe width="{width}" height="{height}" srcdoc="{html.escape(page.read_text(encoding="utf-8"))}"></iframe><pre></pre>
<script>onload = () => {{
  const inner = document.querySelector("iframe").contentDocument
  document.querySelector("pre").textContent = "found" + JSON.stringify((() => {{ {script} }})()) + "end"
}}</script>""",
        encoding="utf-8",
    )
    dom, console = browse(frame, "--dump-dom", "--window-size=1280,2000")
    found = re.search(r"<pre>found(.*?)end", dom, re.DOTALL)
    assert found, dom[-2000:]
    return json.loads(html.unescape(found[1])), console


def measure(page: Any, width: Any) -> Any:
    """How wide and high the page came out, its marks, and what is wider than it."""
    script = f"""
  const wide = [...inner.querySelectorAll("body *")].filter(e => !e.closest(".scroll *, svg *") &&
    e.getBoundingClientRect().right > {width} + 0.5).map(e => e.outerHTML.slice(0, 80))
  const marks = inner.querySelectorAll("mark").length
  return {{ width: inner.documentElement.scrollWidth, height: inner.body.offsetHeight, marks, wide }}"""
    return found_in(page, script, width, 9000)


def axe_violations(page: Any, width: int) -> Any:
    """What axe-core finds serious or critical: [(rule, the elements)]."""
    script = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    text = page.read_text(encoding="utf-8")
    without_policy = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    look = """axe.run(document).then(found => {
  const bad = found.violations.filter(one => ["serious", "critical"].includes(one.impact))
  const pre = document.createElement("pre")
  const told = bad.map(one => [one.id, one.nodes.map(node => node.html.slice(0, 200))])
  pre.textContent = "axe" + JSON.stringify(told) + "end"
  document.body.append(pre)
})"""
    watched = page.with_name(f"axe{width}.html")
    scripts = f"<script>{script}</script><script>onload = () => {{ {look} }}</script>"
    watched.write_text(without_policy.replace("</body>", f"{scripts}</body>"), encoding="utf-8")
    dom, _ = browse(watched, "--dump-dom", f"--window-size={width},2000")
    return json.loads(html.unescape(re.findall(r"<pre>axe(.*?)end</pre>", dom, re.DOTALL)[-1]))
