"""The home folder in paths, wherever a word or a value may hold one."""

import json

import pytest

from spanreward.rewards.files.home import expand_home, expanded_within

HOME = "/home/somebody"


@pytest.fixture(autouse=True)
def at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", HOME)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("~/x", f"{HOME}/x"),
        ("output=~/x", f"output={HOME}/x"),
        ("--json=~/x.json", f"--json={HOME}/x.json"),
        ("sft=~/a,~/b", f"sft={HOME}/a,{HOME}/b"),
        ("vllm:~/models/m", f"vllm:{HOME}/models/m"),
        ("encoder:~/a+match+~/my.py:Rule", f"encoder:{HOME}/a+match+{HOME}/my.py:Rule"),
        ("hub:~/data:test", f"hub:{HOME}/data:test"),
        ("teacher=[~/a.jsonl,~/b.jsonl]", f"teacher=[{HOME}/a.jsonl,{HOME}/b.jsonl]"),
    ],
)
def test_a_path_is_written_out(text: str, path: str) -> None:
    assert expand_home(text) == path


@pytest.mark.parametrize("text", [
    "", "~", "a~/x", "outputs/~/x", "http://host/~me/model",
    "server:http://127.0.0.1:8000#~/served", "about ~ 5, ~10", "~nobody-of-this-name/x",
])  # fmt: skip
def test_what_is_no_path_stays(text: str) -> None:
    assert expand_home(text) == text


def test_plain_data_at_any_depth() -> None:
    given = {"prompts": "~/p.yaml", "top": 20, "teacher": ["~/t", None], "of": {"a": "~/b"}}
    written = json.loads(json.dumps(given).replace("~", HOME))
    assert expanded_within(given) == written
