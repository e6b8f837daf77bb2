"""Copies of the sets without the pictures that a judge was trained on."""

import json
from pathlib import Path
from typing import Any

from experiments.agreement.caption_sets import read_set
from experiments.agreement.unseen import FILES, write_unseen

NAMES = dict.fromkeys(("hat_aloha", "thumb"), "COCO_val2014_{:012d}.jpg")
NAMES["pascal50s"] = "{}.jpg"


def test_the_pictures_that_were_read_are_left_out_of_every_set(tmp_path: Path) -> None:
    """SugarCrepe names a picture by a number, the other sets by a text."""
    data, judge = tmp_path / "data", tmp_path / "judge"
    for name, (file, key) in FILES.items():
        ids: list[Any] = [7, 42]
        if name != "sugarcrepe":
            ids = [NAMES.get(name, "{}").format(one) for one in ids]
        (data / name).mkdir(parents=True)
        (data / name / file).write_text("".join(json.dumps({key: one}) + "\n" for one in ids))
    judge.mkdir()
    pictures = {"read": ["42"], "unseen": ["7"]}
    (judge / "spanreward.json").write_text(json.dumps({"pictures": pictures}))
    assert write_unseen(data, judge, tmp_path / "copy") == dict.fromkeys(FILES, (1, 2))
    for name, (file, key) in FILES.items():
        (row,) = read_set(tmp_path / "copy", name, file)
        assert str(row[key]).partition(".")[0][-1] == "7"
