"""Run scripts/train.py several times in one launched process: the imports take longer than two
steps of a tiny policy.

accelerate launch ... tests/support/several.py PLAN
# JSON: {name: {arguments: [...], result: path}}

What each run printed and its exit code go to its result, as a shell would tell; the next one starts
whatever came out.
"""

import contextlib
import io
import json
import runpy
import sys
import traceback
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "train.py"


def run(arguments: list[str]) -> dict[str, str | int]:
    out, err = io.StringIO(), io.StringIO()
    code = 0
    sys.argv = [str(SCRIPT), *arguments]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            runpy.run_path(str(SCRIPT), run_name="__main__")
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
            err.write("" if isinstance(end.code, int) or end.code is None else f"{end.code}\n")
        except BaseException:
            code = 1
            err.write(traceback.format_exc())
    return {"returncode": code, "stdout": out.getvalue(), "stderr": err.getvalue()}


if __name__ == "__main__":
    for entry in json.loads(Path(sys.argv[1]).read_text()):
        Path(entry["result"]).write_text(json.dumps(run(entry["arguments"])))
