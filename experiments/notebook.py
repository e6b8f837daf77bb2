"""Runs docs/gallery/verdicts.py and writes it, with its outputs, as the notebook
docs/gallery/verdicts.ipynb.

    python -m experiments.notebook
    as_markdown(json.loads(text))      # as docs/conf.py shows it

`# %%` begins a cell of code and `# %% [markdown]` one of text, as Jupytext and editors read them.
The notebook keeps what a cell prints and its last expression: a picture, a piece of HTML, or its
repr.
"""

import ast
import base64
import io
import json
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from PIL import Image

from spanreward.rewards.base.verdict_html import Html

SOURCE = Path(__file__).parents[1] / "docs" / "gallery" / "verdicts.py"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def notebook(script: str) -> dict[str, Any]:
    """The notebook of a script, as nbformat 4.5 has it."""
    names: dict[str, Any] = {}
    cells: list[dict[str, Any]] = []
    for kind, body in re.findall(
        r"^# %%( \[markdown\])?\n(.*?)(?=^# %%|\Z)", script, re.DOTALL | re.MULTILINE
    ):
        cell: dict[str, Any] = {"id": f"cell-{len(cells)}", "metadata": {}}
        if kind:
            text = re.sub(r"^# ?", "", body.strip(), flags=re.MULTILINE)
            cells.append({**cell, "cell_type": "markdown", "source": text})
        else:
            count = sum(one["cell_type"] == "code" for one in cells) + 1
            outputs = run(body, names, count)
            cell |= {
                "cell_type": "code",
                "execution_count": count,
                "outputs": outputs,
                "source": re.sub(r"  # noqa.*", "", body.strip()),
            }
            cells.append(cell)
    return {"cells": cells, "metadata": {"kernelspec": KERNEL}, "nbformat": 4, "nbformat_minor": 5}


def run(code: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """A cell's outputs. It leaves its names in `names`."""
    tree = ast.parse(code)
    end = tree.body[-1]
    last = ast.Expression(end.value) if isinstance(end, ast.Expr) else None
    tree.body = tree.body[:-1] if last else tree.body
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, "cell", "exec"), names)
        value = None if last is None else eval(compile(last, "cell", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": printed.getvalue()})
    if value is not None:
        outputs.append(
            {
                "output_type": "execute_result",
                "execution_count": count,
                "metadata": {},
                "data": shown(value),
            }
        )
    return outputs


def shown(value: Any) -> dict[str, str]:
    if isinstance(value, Image.Image):
        return {"image/png": png(value)}
    return {"text/html": str(value)} if isinstance(value, Html) else {"text/plain": repr(value)}


def as_markdown(written: dict[str, Any]) -> str:
    """A notebook's cells and the outputs that it holds, in MyST's Markdown."""
    parts = []
    for cell in written["cells"]:
        code = cell["cell_type"] == "code"
        parts.append(f"```python\n{cell['source']}\n```" if code else cell["source"])
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/png" in data:
                parts.append(
                    '<img alt="What the cell draws" '
                    f'src="data:image/png;base64,{data["image/png"]}">'
                )
            elif "text/html" in data:
                parts.append(f"```{{raw}} html\n{data['text/html']}\n```")
            else:
                parts.append(f"```text\n{(output.get('text') or data['text/plain']).rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def png(image: Image.Image) -> str:
    file = io.BytesIO()
    image.save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


if __name__ == "__main__":
    SOURCE.with_suffix(".ipynb").write_text(
        json.dumps(notebook(SOURCE.read_text()), indent=1) + "\n"
    )
