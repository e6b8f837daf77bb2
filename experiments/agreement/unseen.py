"""Copies of the sets without the pictures that an encoder judge was trained on, in the same folders
and files.

    write_unseen(Path("../shared/data"), Path("outputs/judges/people"), Path("outputs/unseen"))

Every command that takes the sets' folder takes the copy.
"""

import json
from pathlib import Path

from experiments.agreement.caption_sets import read_set
from spanreward.training.experimental.judge_training.data import picture_name
from spanreward.training.experimental.judge_training.fit import SETTINGS_FILE

FILES = {  # by set: its file, and the key of the picture's name
    "hat_aloha": ("hat_trainval.jsonl", "image_path"),
    "flickr8k_expert": ("flickr8k_expert.jsonl", "image_id"),
    "thumb": ("thumb_mscoco.jsonl", "image"),
    "sugarcrepe": ("sugarcrepe.jsonl", "image_id"),
    "pascal50s": ("pascal50s.jsonl", "image"),
    "discosg_foil": ("discourse_foil.jsonl", "image_id"),
}


def write_unseen(data: Path, judge: Path, folder: Path) -> dict[str, tuple[int, int]]:
    """Writes the copies. Returns, by set, how many lines were kept and how many there are."""
    read = set(json.loads((judge / SETTINGS_FILE).read_text("utf-8"))["pictures"]["read"])
    kept = {}
    for name, (file, key) in FILES.items():
        rows = read_set(data, name, file)
        unseen = [row for row in rows if picture_name(str(row[key])) not in read]
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / file).write_text(
            "".join(json.dumps(row) + "\n" for row in unseen), "utf-8"
        )
        kept[name] = (len(unseen), len(rows))
    return kept
