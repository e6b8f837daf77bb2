"""accelerate knows every key of accelerate_configs, and two ranks train alike with each."""

import json
import os
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml
from accelerate.commands import launch as launch_module
from accelerate.commands.config.config_args import load_config_from_file
from accelerate.commands.launch import launch_command_parser

from experiments.scenes.policy import tiny_policy, tiny_processor
from tests.support.dapo_run import RECIPE, SHRUNK
from tests.support.files import read_lines
from tests.support.paths import ROOT, SUPPORT

ONE = ("--num_processes", "1", "--num_machines", "1")
FLAGS = [*ONE, "--mixed_precision", "bf16", "--dynamo_backend", "no"]  # as docs/one_gpu.md has them
CONFIGS = ROOT / "accelerate_configs"
SCRIPT = SUPPORT / "sharded_on_cpu.py"
HANGS = 400  # seconds: far more than the ranks take
OVERRIDES = (
    *(*SHRUNK, "data.count=16", "trainer.max_steps=2", "trainer.warmup_steps=0"),
    *("trainer.gradient_accumulation_steps=2", "trainer.max_completion_length=12"),
    "trainer.use_cpu=false",
)
LAYERS = ("--fsdp_transformer_layer_cls_to_wrap", "LlamaDecoderLayer,CLIPEncoderLayer")


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_accelerate_knows_every_key(path: Path) -> None:
    config = load_config_from_file(str(path))  # refuses unknown keys, but looks into no block
    options = vars(launch_command_parser().parse_args(["script.py"]))
    for block in ("deepspeed_config", "fsdp_config"):
        assert set(getattr(config, block)) <= set(options)
    text = path.read_text()
    assert text.startswith("# ")
    assert "accelerate launch" in text.partition("compute_environment")[0]
    assert set(yaml.safe_load(text)) >= {"distributed_type", "mixed_precision", "num_processes"}


@pytest.mark.parametrize("config", [("--config_file", str(CONFIGS / "one_gpu.yaml")), FLAGS])
def test_one_gpus_launch_warns_of_no_default(
    config: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the file accelerate tells what it filled in, at each start."""
    monkeypatch.setattr(launch_module.logger, "warning", None)
    parsed = launch_command_parser().parse_args([*config, "script.py"])
    args, _, _ = launch_module._validate_launch_command(parsed)
    assert (args.num_processes, args.use_deepspeed, args.multi_gpu) == (1, False, False)


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """In a folder, as ZeRO-3 divides a policy that is loaded, not one that is made."""
    folder = tmp_path_factory.mktemp("policy")
    tiny_policy(0).save_pretrained(folder)
    tiny_processor().save_pretrained(folder)
    return folder


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def launch(
    config: str, folder: Path, policy: Path, *options: str
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What the two ranks trained with, and the lines of metrics.jsonl."""
    accelerate = str(Path(sys.executable).with_name("accelerate"))
    path = CONFIGS / f"{config}.yaml"
    command = f"{accelerate} launch --config_file {path} --num_processes 2".split()
    command += ["--mixed_precision", "no", *(LAYERS if config == "fsdp2" else ())]
    overrides = [f"output={folder / 'out'}", *OVERRIDES, f"policy.model={policy}", *options]
    environment = {"ACCELERATE_TORCH_DEVICE": "cpu", "DS_ACCELERATOR": "cpu"}
    environment |= {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    machines: list[list[str]] = [["--main_process_port", "0"]]
    if (count := yaml.safe_load(path.read_text())["num_machines"]) > 1:
        first = ["--main_process_ip", "127.0.0.1", "--main_process_port", str(free_port())]
        machines = [[*first, "--machine_rank", str(number)] for number in range(count)]
    logs = [folder / f"machine{number}.log" for number in range(len(machines))]
    started = []
    for machine, log in zip(machines, logs, strict=True):
        words = [*command, *machine, str(SCRIPT), str(folder), RECIPE, *overrides]
        with log.open("w") as file:
            process = subprocess.Popen(
                words, cwd=ROOT, env=os.environ | environment, stdout=file, stderr=file
            )
        started.append(process)
    try:
        codes = [process.wait(timeout=HANGS) for process in started]
    finally:
        for process in started:
            process.kill()
    assert codes == [0] * len(started), [log.read_text() for log in logs]
    ranks = [json.loads((folder / f"{rank}.json").read_text()) for rank in (0, 1)]
    return ranks, read_lines(folder / "out" / "metrics.jsonl")


@pytest.fixture(scope="module")
def undivided(policy: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    ranks, lines = launch("ddp", tmp_path_factory.mktemp("ddp"), policy, "trainer.use_cpu=true")
    kinds = {(rank["type"], rank["model"]) for rank in ranks}
    assert kinds == {("DistributedType.MULTI_CPU", "DistributedDataParallel")}
    return lines


def test_zero3_is_that_of_several_machines() -> None:
    """So that training with the latter is training with both."""
    one, several = (
        yaml.safe_load((CONFIGS / f"{name}.yaml").read_text()) for name in ("zero3", "zero3_nodes")
    )
    assert several["deepspeed_config"].pop("deepspeed_multinode_launcher") == "standard"
    machines = {"num_machines", "num_processes", "main_process_ip", "main_process_port"}
    assert {key for key in one | several if one.get(key) != several.get(key)} == machines


@pytest.mark.parametrize("config", ["zero2", "zero3_nodes", "fsdp2"])
def test_two_ranks_train_as_undivided_ones(
    config: str, undivided: Any, policy: Any, tmp_path: Path
) -> None:
    if config.startswith("zero") and find_spec("deepspeed") is None:
        pytest.skip("needs pip install 'spanreward[deepspeed]'")
    ranks, lines = launch(config, tmp_path, policy, "trainer.ddp_backend=gloo")
    sizes = [(rank["here"], rank["whole"]) for rank in ranks]
    kinds = {(rank["type"], rank["model"], rank["stage"]) for rank in ranks}
    if config == "fsdp2":
        assert {kind for kind, _, _ in kinds} == {"DistributedType.FSDP"}
    else:
        assert kinds == {("DistributedType.DEEPSPEED", "DeepSpeedEngine", int(config[4]))}
    assert all((here < 0.6 * whole) == (config != "zero2") for here, whole in sizes)
    # gathered, in float32
    assert (tmp_path / "out" / "model.safetensors").stat().st_size > 4 * sizes[0][1] * 0.9
    for found, wanted in zip(lines[:2], undivided[:2], strict=True):
        assert found["step"] == wanted["step"]
        names = ("reward", "loss", "grad_norm", "completions/mean_length")
        for name in (*names, "spans/posh/credit_std"):
            assert found[name] == pytest.approx(wanted[name], rel=1e-3, abs=1e-5), name
