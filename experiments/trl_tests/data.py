"""Small datasets with the columns of those on the hub that TRL's tests load.

    save_data(Path("trl-internal-testing/zen"))
    # load_dataset finds the folder under the hub's name

The texts are halves of PEP 20's lines, in its order, which one of the tests expects.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from datasets import Dataset, Features, Image, List, Value
from PIL import Image as Pictures

TRAIN = (
    *(
        "Beautiful is better than",
        "Explicit is",
        "Simple is better",
        "Complex",
        "Flat is better than",
    ),
    *(
        "Sparse is better",
        "Readability",
        "Special cases aren't special",
        "Although practicality beats",
    ),
    *("Errors should never", "Unless explicitly", "In the face of ambiguity, refuse"),
)
TEST = ("Now is better", "Namespaces are one")
PICTURES = 4  # rows with pictures
COLOURS = ("red", "green", "blue", "white")
MESSAGES = List({"role": Value("string"), "content": Value("string")})


def rows(texts: Sequence[str], conversational: bool, pictures: int) -> Dataset:
    """pictures: how many each row has; none, one in the column image, or several in the column
    images.
    """
    columns: dict[str, Any] = {"prompt": list(texts)}
    features: dict[str, Any] = {"prompt": Value("string")}
    if conversational:
        columns["prompt"] = [
            [{"role": "user", "content": f"How does it go on: {text}?"}] for text in texts
        ]
        features["prompt"] = MESSAGES
    drawn = [
        [Pictures.new("RGB", (32, 32), COLOURS[(row + one) % 4]) for one in range(pictures)]
        for row in range(len(texts))
    ]
    if pictures == 1:
        columns["image"], features["image"] = [one for (one,) in drawn], Image()
    elif pictures:
        columns["images"], features["images"] = drawn, List(Image())
    return Dataset.from_dict(columns, features=Features(features))


def save_data(folder: Path) -> None:
    """Writes zen, zen-image or zen-multi-image, by the folder's name."""
    pictures = {"zen": 0, "zen-image": 1, "zen-multi-image": 2}[folder.name]
    kinds = ("conversational",) if pictures else ("standard", "conversational")
    lines = ["---", "configs:"]
    for kind in kinds:
        lines += [f"- config_name: {kind}_prompt_only", "  data_files:"]
        for split, texts in {
            "train": TRAIN[:PICTURES] if pictures else TRAIN,
            "test": TEST,
        }.items():
            file = folder / f"{kind}-{split}.parquet"
            file.parent.mkdir(parents=True, exist_ok=True)
            rows(texts, kind == "conversational", pictures).to_parquet(file)
            lines += [f"  - split: {split}", f"    path: {file.name}"]
    (folder / "README.md").write_text("\n".join([*lines, "---", ""]))
