"""Train one recipe many times: over seeds, and in two numerical environments. What a newcomer
should expect is the interval over those runs, not the one run that this machine happened to make.

    python -m experiments repeat recipes/quickstart/scenes-base.yaml --seeds 0-9 --folder
    outputs/repeat/base
    python -m experiments repeat recipes/quickstart/scenes-dapo.yaml --seeds 0-9 --environments 0
    1e-6 \\
        --start 'outputs/repeat/base/seed{seed}' --folder outputs/repeat/dapo

RL amplifies the last bit: on another CPU the same commit and seed give another run. An environment
is imitated by its perturbation: every weight of the starting policy is multiplied by 1 +
PERTURBATION x a normal number (float32 rounds at 6e-8; 0 leaves the weights as they are). Every run
has one thread, and --workers of them go on side by side.

A run that is finished is not made again, one that was interrupted starts anew: call the command
again to go on. Beside each run stands what it wrote, in <run>.log. `spanreward compare` takes the
folders, with --seeds 0 0 1 1 where seeds have several environments.
"""

import argparse
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("recipe", help="the YAML file of the runs")
    parser.add_argument(
        "overrides", nargs="*", metavar="key=value", help="as for `spanreward train`, for all runs"
    )
    parser.add_argument(
        "--seeds", type=seeds, default=list(range(10)), metavar="A-B", help="default: 0-9"
    )
    parser.add_argument(
        "--environments",
        nargs="+",
        default=["0"],
        metavar="PERTURBATION",
        help="of the starting weights (default: 0)",
    )
    parser.add_argument(
        "--start", help="the starting policy's folder, with {seed} in it (default: the recipe's)"
    )
    parser.add_argument(
        "--folder",
        type=Path,
        required=True,
        help="where the runs go: FOLDER/seed3, FOLDER/seed3~1e-6",
    )
    parser.add_argument(
        "--workers",
        type=int,
        default=os.cpu_count() or 1,
        help="runs at a time (default: the cores)",
    )
    arguments = parser.parse_intermixed_args()
    if any(float(environment) for environment in arguments.environments) and not arguments.start:
        parser.error(
            "a perturbed environment needs --start: the folder of the policy whose weights are "
            "perturbed."
        )
    arguments.folder.mkdir(parents=True, exist_ok=True)
    runs = [
        (seed, environment) for seed in arguments.seeds for environment in arguments.environments
    ]
    with ThreadPoolExecutor(arguments.workers) as workers:
        codes = list(workers.map(lambda run: make(arguments, *run), runs))
    if any(codes):
        sys.exit(
            f"{parser.prog}: {sum(map(bool, codes))} of {len(runs)} runs ended with an error, see "
            "their .log."
        )


def seeds(text: str) -> list[int]:
    """ "0-9" or "3"."""
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


def make(arguments: argparse.Namespace, seed: int, environment: str) -> int:
    """One run, if it is not there yet; its exit code."""
    name = f"seed{seed}" if not float(environment) else f"seed{seed}~{environment}"
    output = arguments.folder / name
    if (output / "model.safetensors").exists() or (output / "adapter_model.safetensors").exists():
        print(f"{name}: there already", flush=True)
        return 0
    overrides = [f"seed={seed}", f"output={output}", "overwrite=true", *arguments.overrides]
    if arguments.start:
        start = arguments.start.format(seed=seed)
        overrides.append(
            f"policy.model={start if not float(environment) else perturbed(start, output, environment)}"
        )
    command = [sys.executable, "-m", "spanreward", "train", arguments.recipe]
    command += ["--set", *overrides]
    with (arguments.folder / f"{name}.log").open("w") as log:
        code = subprocess.run(
            command,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdout=log,
            stderr=subprocess.STDOUT,
        ).returncode
    print(
        f"{name}: " + ("trained" if code == 0 else f"exit code {code}, see {log.name}"), flush=True
    )
    return code


def perturbed(start: str, output: Path, environment: str) -> Path:
    """A copy of the policy whose weights are perturbed, the same for every run from it."""
    from experiments.perturb import perturb
    from spanreward.training.policy import load_policy

    folder = output.with_name(f"{output.name}-start")
    policy, processor = load_policy(start)
    perturb(policy, float(environment))
    policy.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


if __name__ == "__main__":
    main()
