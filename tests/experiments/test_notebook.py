"""The notebook of the gallery is what its script prints today."""

import json

from experiments.notebook import SOURCE, notebook


def test_the_notebook_is_what_its_script_gives() -> None:
    stored = json.loads(SOURCE.with_suffix(".ipynb").read_text())
    fresh = notebook(SOURCE.read_text())
    for one in (stored, fresh):  # a picture's bytes are the PNG library's matter
        for cell in one["cells"]:
            for output in cell.get("outputs", []):
                output.get("data", {}).pop("image/png", None)
    assert stored == fresh
    assert sum(len(cell.get("outputs", [])) for cell in stored["cells"]) == 7
