"""Every typical mistake is told in one sentence."""

import re
from pathlib import Path

import pytest
from huggingface_hub import constants

from experiments.mistakes.misplaced import MISPLACED, prepare_more
from experiments.mistakes.mistakes import MISTAKES, Mistake, prepare, whole
from experiments.mistakes.of_readers import OF_READERS, prepare_files
from spanreward.rewards.files import hub as hub
from tests.support.command import spanreward


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    prepare(folder)
    prepare_more(folder)
    prepare_files(folder)
    return folder


@pytest.fixture(autouse=True)
def without_a_hub(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable() -> None:
        raise OSError("no network")

    monkeypatch.chdir(project)
    monkeypatch.setattr(hub, "get_session", unreachable)
    # put back at the end, as is the variable
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    hub.offline_without_hub.cache_clear()


@pytest.mark.parametrize(
    "mistake", MISTAKES + MISPLACED + OF_READERS, ids=lambda mistake: mistake.name
)
def test_a_mistake_is_told_in_one_sentence(
    mistake: Mistake, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    if mistake.script:
        with pytest.raises((ValueError, TypeError)) as error:
            exec(compile(whole(mistake), "script.py", "exec"), {"__name__": "script"})
        (said,) = str(error.value).splitlines()
        assert re.search(mistake.told, said), said
        return
    done = spanreward(*mistake.words)
    assert done.code == mistake.status, done.err
    assert "Traceback" not in done.err
    lines = (done.out + done.err + caplog.text).splitlines()
    assert [line for line in lines if re.search(mistake.told, line)], done.err[-2000:]
