"""Chat templates of a stranger's model folder that loop, grow or call themselves."""

import os
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers

from experiments.attack.server import ROOT

SECONDS = 20.0  # after which a process has not ended
MEMORY = 2 << 30  # bytes of addresses
# reads the folder as a judge's, and says what a person is told
READING = """
import sys
from pathlib import Path
from spanreward.rewards.judges.encoding.chat import ChatEncoder
from spanreward.rewards.judges.encoding.tokenizer_files import TokenizerFiles
try:
    encoder = ChatEncoder(TokenizerFiles(Path(sys.argv[1])))
    print(len(encoder.encode([{"role": "user", "content": "Rate it."}])), "ids")
except ValueError as error:
    print("a sentence")
"""
LOOPS = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"
CHAT = "{% for m in messages %}{{ m.content }}{% endfor %}"
TEMPLATES = (
    CHAT + LOOPS,
    CHAT + "{% if enable_thinking is defined %}" + LOOPS + "{% endif %}",
    CHAT + "{% for i in range(10 ** 9) %}{% endfor %}",
    CHAT + "{% set a = 'a' * 10 ** 10 %}",
    CHAT + "{% set a = 'a' | center(10 ** 10) %}",
    CHAT + "{% if 9 ** (9 ** 9) %}{% endif %}",
    CHAT + "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "{% for m in messages recursive %}{{ m.content }}{{ loop(messages) }}{% endfor %}",
    CHAT
    + "{% macro m(x) %}{% if x %}{{ m(x - 1) }}{{ m(x - 1) }}{% endif %}{% endmacro %}{{ m(40) }}",
    CHAT
    + "{% set n = namespace(x='a') %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
)


def chat_templates() -> dict[str, Any]:
    """What is somebody told who takes the model as a judge, and does it end?"""
    outcomes: Counter[str] = Counter()
    for template in TEMPLATES:
        with tempfile.TemporaryDirectory() as folder:
            write_model(Path(folder), template)
            outcomes[outcome_of(folder)] += 1
    return {
        f"{len(TEMPLATES)} hostile chat templates: {name}": outcomes[name]
        for name in ("a sentence", "a traceback", f"no end within {SECONDS:.0f} s")
    }


def outcome_of(folder: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    try:
        process = subprocess.run(
            [sys.executable, "-c", READING, folder],
            capture_output=True,
            text=True,
            env=environment,
            timeout=SECONDS,
            preexec_fn=bound_memory,
        )
    except subprocess.TimeoutExpired:
        return f"no end within {SECONDS:.0f} s"
    if process.returncode:
        return "a traceback"
    return process.stdout.strip()


def write_model(folder: Path, template: str) -> None:
    """Writes what a judge behind a server needs of a model: a tokenizer and its template."""
    words = Tokenizer(models.WordLevel({"[UNK]": 0, "Rate": 1}, "[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.save(str(folder / "tokenizer.json"))
    (folder / "chat_template.jinja").write_text(template)


def bound_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
