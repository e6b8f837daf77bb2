"""On a machine with a GPU, in a checkout with all parts in build/: unpacks them, makes the models,
and runs whole.py.

    python3 tests/gpu/unpack.py  # ends after 9.5 minutes; again: goes on with what is left
    python3 tests/gpu/unpack.py --minutes 4 --only step

The package is imported from the checkout: without pip, two links in spanreward/ stand for the
install. Its arguments are whole.py's. The models are made while vLLM is still unpacked, and
Python's files are compiled in the background, because a first import of thousands of new ones takes
half a minute. Needs Python and nothing else.
"""

import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
# in this order: the models need the first two
ARCHIVES = ("gpu_packages", "gpu_smollm2", "gpu_vllm")
# which are imported as spanreward.rewards and spanreward.training
FOLDERS = ("rewards", "training")
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


def main() -> None:
    link_package()
    places = [folder(name) for name in ARCHIVES]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [ROOT, *places]))}
    making = None
    for name in ARCHIVES:
        if not unpack(name):
            continue
        subprocess.Popen(
            [sys.executable, "-m", "compileall", "-q", "-j", "4", folder(name)],
            stdout=subprocess.DEVNULL,
        )
        if name == "gpu_smollm2":
            making = subprocess.Popen(
                [sys.executable, "-m", "tests.gpu.phases.make"], cwd=ROOT, env=environment
            )
    if making is not None:
        making.wait()
    os.chdir(ROOT)
    os.execve(sys.executable, [sys.executable, "-m", "tests.gpu.whole", *sys.argv[1:]], environment)


def link_package() -> None:
    """Makes the package importable from this checkout, which nothing was installed from."""
    for name in FOLDERS:
        link = ROOT / "spanreward" / name
        if not link.exists():
            link.symlink_to(Path("..") / name)


def folder(name: str) -> Path:
    return BUILD / f"{name}-{PYTHON}"  # conftest.py looks for that of the packages


def unpack(name: str) -> bool:
    """Joins an archive's parts and unpacks it. Returns whether there was anything to do."""
    place, parts = folder(name), sorted(BUILD.glob(f"{name}-{PYTHON}.zip.*"))
    if place.is_dir():
        return False
    if not parts:
        sys.exit(
            f"there is no {place}.zip.00: carry all parts that `python tests/gpu/pack.py` wrote."
        )
    began = time.monotonic()
    joined, unfinished = place.with_suffix(".joined"), place.with_suffix(".unfinished")
    with joined.open("wb") as file:
        for part in parts:
            file.write(part.read_bytes())
    with zipfile.ZipFile(joined) as archive:
        archive.extractall(unfinished)
    unfinished.rename(place)
    print(f"{name}: unpacked in {time.monotonic() - began:.1f} s", flush=True)
    return True


if __name__ == "__main__":
    main()
