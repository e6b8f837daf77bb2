"""Makes the models of real size with random weights that phases/ uses: a judge of 8 B and a policy
of 3 B.

    python -m tests.gpu.phases.make --models /dev/shm/spanreward

On an H200 24 s and 10 s. A folder that is there was written whole: it gets its name at the end. The
words are SmolLM2's, so that a text has as many tokens as it should.
"""

from transformers import AutoTokenizer

from spanreward.rewards.judges.smollm2 import smollm2_folder
from tests.gpu.models import save_judge, save_policy
from tests.gpu.phases.common import SIZES, arguments
from tests.gpu.phases.timeline import Timeline


def main() -> None:
    given = arguments(__doc__)
    timeline, machine = Timeline("models", given.json), SIZES[given.size]
    given.models.mkdir(parents=True, exist_ok=True)
    with timeline("SmolLM2"):
        smollm2 = smollm2_folder()
    for name, model in {"judge": "Qwen/Qwen3-8B", "policy": "Qwen/Qwen2.5-VL-3B-Instruct"}.items():
        folder, unfinished = given.models / name, given.models / f"{name}.part"
        if folder.is_dir():
            continue
        words = AutoTokenizer.from_pretrained(smollm2)
        with timeline(f"{name}, {model}"):
            if name == "judge":
                save_judge(model, machine, unfinished, words)
            else:
                save_policy(model, machine, unfinished)
        unfinished.rename(folder)


if __name__ == "__main__":
    main()
