"""One line of a file is one Sample, whoever reads it: `score`, `labels`, `compare`, a training and
a trainer.
"""

from dataclasses import replace
from pathlib import Path

from PIL import Image

from spanreward.rewards.base.verdict import Sample, Verdict
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.rows.fingerprint import sample_fingerprint
from spanreward.rewards.rows.lines import read_rows
from spanreward.rewards.rows.pictures import opened_picture
from spanreward.rewards.rows.sample import row_sample
from spanreward.training.data.load import load_data
from spanreward.training.data.marks import read_marked
from spanreward.training.evaluation.answers.prompts import prompts_of_file
from tests.support.data_parts import jsonl

ROW = {
    "id": "1", "image": "a.png", "prompt": "What is on the grass?", "question": "<image>What is it?",
    "answers": [{"answer": "dog"}, {"answer": "puppy"}, {"answer": ""}],
    "reference": ["A dog.", "A puppy on grass."], "context": "A dog on grass.", "anchor": "A cat.",
    "criteria": "1. It names the dog.", "bbox": [0.0, 0.0, 4.0, 4.0], "task": "vqa",
    "completion": "A dog.", "mistakes": [],
}  # fmt: skip


class Nothing(Reward):
    def assess(self, samples: list[Sample]) -> list[Verdict]:  # type: ignore[override]
        return [Verdict(0.0) for _ in samples]


def plain(sample: Sample) -> Sample:
    """The sample with its picture decoded, and what only some roads have left out."""
    images = tuple(opened_picture(picture).convert("RGB") for picture in sample.images)
    return replace(sample, images=images, columns={})


def test_every_road_leads_to_the_same_sample(tmp_path: Path) -> None:
    Image.new("RGB", (8, 8), "red").save(tmp_path / "a.png")
    part = jsonl(tmp_path, ROW)
    path = Path(part.path)
    (line,) = read_rows(path)
    assert isinstance(line.sample, Sample)
    scored = plain(line.sample)
    assert scored.images[0].getpixel((0, 0)) == (255, 0, 0)
    assert scored.answers == ("dog", "puppy")
    ((labelled, _),) = read_marked(path)
    (compared,) = prompts_of_file(str(path), 1).rows
    (trained,) = load_data(part)
    columns = {name: [value] for name, value in trained.items()}
    said = ROW["completion"]
    (rewarded,) = Nothing("nothing").read_samples(columns.pop("prompt"), [said], **columns)
    samples = (labelled, row_sample(compared, said), row_sample(trained, said), rewarded)
    for sample in samples:
        assert plain(sample) == scored
        assert sample_fingerprint(plain(sample)) == sample_fingerprint(scored)
