"""Copies of the sets without the pictures that a judge was trained on."""

import json
from pathlib import Path

from experiments.agreement.caption_sets import read_set
from experiments.agreement.unseen import FILES, write_unseen

NAMES = {
    "hat_aloha": "COCO_val2014_{:012d}.jpg",
    "thumb": "COCO_val2014_{:012d}.jpg",
    "pascal50s": "{}.jpg",
}


def test_the_pictures_that_were_read_are_left_out_of_every_set(tmp_path: Path) -> None:
    """SugarCrepe names a picture by a number, the other sets by a text."""
    data, judge = tmp_path / "data", tmp_path / "judge"
    for name, (file, key) in FILES.items():
        ids = [
            one if name == "sugarcrepe" else NAMES.get(name, "{}").format(one) for one in (7, 42)
        ]
        (data / name).mkdir(parents=True)
        (data / name / file).write_text(
            "".join(json.dumps({key: one}) + "\n" for one in ids), "utf-8"
        )
    judge.mkdir()
    (judge / "spanreward.json").write_text(
        json.dumps({"pictures": {"read": ["42"], "unseen": ["7"]}}), "utf-8"
    )
    assert write_unseen(data, judge, tmp_path / "copy") == dict.fromkeys(FILES, (1, 2))
    for name, (file, key) in FILES.items():
        assert [
            str(row[key]).partition(".")[0][-1] for row in read_set(tmp_path / "copy", name, file)
        ] == ["7"]
