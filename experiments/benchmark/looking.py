"""What share of the words that no reference supports is in the picture (PoshReward with evidence="picture").

python -m experiments benchmark looking --people ../shared/data --json looking.json
"""

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

from experiments.scenes.picture_judge import DescribedPictures, key_of
from spanreward.rewards import MatchJudge, PoshReward, Sample, Verdict
from spanreward.rewards.files.json_lines import read_json_lines
from spanreward.rewards.files.pictures import opened

DESCRIPTION = """Takes the open pictures with captions. Each caption is judged with `match` against the picture's other
captions as references; --references of them. The judge of the picture reads the annotators' list of its objects ("A
person. Two cars."). flagged: components that no reference supports, rated below 3 of 5. supported: those of them that
the list of objects has. By kind of component. asked: questions about pictures per caption. elsewhere: the share of the
flagged components that the list of the next picture supports, for what a list supports by chance."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--people", type=Path, required=True, metavar="FOLDER", help="the sets' folder")
    parser.add_argument("--references", type=int, default=4, help="captions as references (default 4)")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    folder = arguments.people / "coco_open_images"
    texts, samples = {}, []
    for _, record in read_json_lines(folder / "records.jsonl"):
        captions = record["captions"]
        if len(captions) > 1 and record["objects"]:
            picture = opened(str(folder / record["file"]))
            texts[key_of(picture)] = in_words(record["objects"])
            for number, caption in enumerate(captions):
                others = tuple(captions[:number] + captions[number + 1 :])[: arguments.references]
                samples.append(Sample("", caption, images=(picture,), references=others))
    keys = list(texts)
    turned = {key: texts[keys[number - 1]] for number, key in enumerate(keys)}
    plain = PoshReward("match").assess(samples)
    found: dict[str, Any] = {"pictures": len(texts), "captions": len(samples), "references": arguments.references}
    for name, shown in (("own", texts), ("elsewhere", turned)):
        judge = DescribedPictures(MatchJudge(), shown)
        looked = PoshReward(judge, evidence="picture").assess(samples)
        found[name] = {"asked": judge.asked / len(samples), **compare(plain, looked)}
    return found


def in_words(objects: dict[str, int]) -> str:
    """A list of objects as sentences; "grass-merged" and "wall-other-merged" are COCO's names of stuff."""
    names = [(name.removesuffix("-merged").removesuffix("-other").replace("-", " "), n) for name, n in objects.items()]
    return " ".join(f"There {'is a' if n == 1 else f'are {n}'} {name}{'s' * (n > 1)}." for name, n in names)


def compare(plain: list[Verdict], looked: list[Verdict]) -> dict[str, Any]:
    """Counts of components by kind, and mean precision."""
    flagged: Counter[str] = Counter()
    supported: Counter[str] = Counter()
    for before, after in zip(plain, looked, strict=True):
        ratings = {span.component: span.score for span in after.spans}
        for component, kind, score in {(one.component, one.kind, one.score) for one in before.spans}:
            if kind != "filler" and score < 0.5:
                flagged[kind] += 1
                supported[kind] += ratings[component] >= 0.5
    means = [sum(one.parts["precision"] for one in side) / len(side) for side in (plain, looked)]
    return {"flagged": dict(flagged), "supported": dict(supported), "precision": means}
