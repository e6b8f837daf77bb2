"""Readers in processes of their own, in an environment of its own, and in a thread."""

import subprocess
import sysconfig
import threading
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spanreward.rewards.language.reader import LocalReader
from spanreward.rewards.language.reader_server import ReaderServer
from tests.support.paths import ROOT


def second_environment(folder: Path) -> Path:
    """The interpreter of a new environment, which finds this one's packages as its own."""
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    (own,) = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.splitlines()
    Path(own, "borrowed.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return python


@contextmanager
def reader_process(python: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`spanreward read --serve` of that interpreter on a free port, once it answers, with its url."""
    words = [str(python), "-m", "spanreward", "read", "--serve", "--port", "0", *options]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().split()[-1]
        finally:
            process.kill()


@contextmanager
def reader_thread(reader: LocalReader) -> Iterator[str]:
    """A server in this process, by its url."""
    with ReaderServer("127.0.0.1", 0, reader) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.url
        server.shutdown()
