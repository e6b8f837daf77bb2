"""How far a search for reward leaves the truth, on Scenes.

python -m experiments benchmark search --policies outputs/quickstart/seed0/dapo --json search.json
"""

import argparse
import random
from collections.abc import Callable, Sequence
from functools import partial
from statistics import fmean
from typing import Any

import torch
from rich.console import Console
from rich.progress import track
from rich.table import Table

from experiments.scenes.language import describe
from experiments.scenes.parts import scenes_of, scenes_part
from experiments.scenes.questions import other_words
from experiments.scenes.referee import judge_description
from experiments.scenes.world import Scene, Split
from spanreward.rewards import HarmonicReward, LaveReward, PoshReward
from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.judges import closing, load_judge
from spanreward.rewards.judges.judge import Judge
from spanreward.rewards.language.answer_text import answer_words
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.rows.sample import read_sample
from spanreward.rewards.text.filler import find_filler
from spanreward.training.data.load import load_data
from spanreward.training.evaluation.answers.greedy import left_padding, with_picture
from spanreward.training.policy import load_policy

DESCRIPTION = """Two searches for reward with a judge, on held-out pictures. The best of --samples completions
that each of --policies samples for a picture, by the reward that it was trained on; and random mutation of the words of
a terse honest text, --steps mutants, of which the best is kept. gap: the reward less the truth of what is found (truth
F1; of an answer whether it is right), mean over pictures; beside it the honest gap, of all the samples and of complete
descriptions. filler and length: of what is found. The smaller the gap, the less there is to find that is not true."""
CHILDREN = 40
FILLERS = ("in", "of", "very", "so", "and", "is", "the", "it", "that", "quite", "there")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--policies", nargs="*", default=[], metavar="FOLDER", help="trained on the reward"
    )
    parser.add_argument(
        "--reward", choices=("posh", "harmonic", "lave"), default="posh", help="(default posh)"
    )
    parser.add_argument(
        "--judge", default="match", help="who answers its questions (default match: words alone)"
    )
    parser.add_argument("--pictures", type=int, default=16, help="per policy (default 16)")
    parser.add_argument(
        "--samples", type=int, default=256, help="completions per picture (default 256)"
    )
    parser.add_argument(
        "--steps", type=int, default=2000, help="mutants per picture, 0 for none (default 2000)"
    )
    parser.add_argument(
        "--starts", type=int, default=8, help="pictures whose texts are mutated (default 8)"
    )


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    if min(arguments.pictures, arguments.samples, arguments.starts) < 1 or arguments.steps < 0:
        raise ValueError(
            "--pictures, --samples and --starts must be 1 or more, and --steps not below 0"
        )
    judge = load_judge(arguments.judge)
    with closing([judge]):
        return search(reward_of(arguments.reward, judge), arguments)


def search(reward: Reward, arguments: argparse.Namespace) -> dict[str, Any]:
    rows, truths = pictures(max(arguments.pictures, arguments.starts), arguments.reward == "lave")
    found: dict[str, Any] = {}
    for folder in arguments.policies:
        found[f"best of {arguments.samples}, {folder}"] = best_of(
            folder, reward, rows, truths, arguments
        )
    if arguments.steps and arguments.reward != "lave":
        found[f"{arguments.steps} mutants"] = mutated(reward, rows, truths, arguments)
    table = Table(title=f"Search for {arguments.reward} with {arguments.judge}")
    for column in ("search", "reward", "truth", "gap", "honest gap", "filler", "words"):
        table.add_column(column)
    for name, of_search in found.items():
        table.add_row(
            name,
            *(
                f"{of_search[key]:.3f}"
                for key in ("reward", "truth", "gap", "honest", "filler", "words")
            ),
        )
    Console(stderr=True, width=max(Console().width, 120)).print(table)
    return {"reward": arguments.reward, "judge": arguments.judge, "searches": found}


def reward_of(name: str, judge: Judge) -> Reward:
    if name == "posh":
        return PoshReward(judge)
    if name == "harmonic":
        return HarmonicReward(judge, evidence="context", spans="none")
    return LaveReward(judge, rationale=False)


def pictures(
    count: int, questions: bool, split: Split = "test"
) -> tuple[list[dict[str, Any]], list[Callable[[str], float]]]:
    """Rows of the split, and per row what a text is truly worth, in [0, 1]."""
    ask = "questions" if questions else "descriptions"
    part = scenes_part(level=1, count=count, split=split, ask=ask)
    rows, scenes = list(load_data(part)), scenes_of(part)
    if questions:
        return rows, [right_by(row["answers"]) for row in rows]
    truths: list[Callable[[str], float]] = [partial(truth_f1, scene) for scene in scenes]
    return [{**row, "scene": scene} for row, scene in zip(rows, scenes, strict=True)], truths


def truth_f1(scene: Scene, text: str) -> float:
    return judge_description(text, scene).f1


def right_by(answers: Sequence[str]) -> Callable[[str], float]:
    """Whether a text is what most people say, or another wording of it."""
    right = max(answers, key=list(answers).count)
    wordings = [answer_words(wording) for wording in (right, *other_words(right))]
    return lambda text: float(answer_words(text) in wordings)


def best_of(
    folder: str,
    reward: Reward,
    rows: Sequence[dict[str, Any]],
    truths: Sequence[Callable[[str], float]],
    arguments: argparse.Namespace,
) -> dict[str, Any]:
    best, honest = [], []
    model: Any
    model, processor = load_policy(folder)
    model.eval()
    torch.manual_seed(0)
    limit = 16 if arguments.reward == "lave" else 96
    chosen = list(zip(rows, truths, strict=True))[: arguments.pictures]
    for row, truth in track(chosen, folder, console=Console(stderr=True)):
        inputs: Any = processor.apply_chat_template(
            [with_picture(row["prompt"], row["image"])] * arguments.samples,
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
            **left_padding(processor),
        )
        with torch.no_grad():
            ids = model.generate(**inputs, max_new_tokens=limit, do_sample=True)
        texts = processor.batch_decode(
            ids[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True
        )
        scores = scored(reward, row, texts)
        honest.append(fmean(score - truth(text) for score, text in zip(scores, texts, strict=True)))
        at = max(range(len(texts)), key=scores.__getitem__)
        best.append(finding(texts[at], scores[at], truth))
    return summary(best, honest)


def mutated(
    reward: Reward,
    rows: Sequence[dict[str, Any]],
    truths: Sequence[Callable[[str], float]],
    arguments: argparse.Namespace,
) -> dict[str, Any]:
    best, honest = [], []
    chosen = list(enumerate(zip(rows, truths, strict=True)))[: arguments.starts]
    for number, (row, truth) in track(chosen, "mutants", console=Console(stderr=True)):
        rng = random.Random(f"mutants {number}")
        complete = describe(row["scene"], rng)
        honest.append(scored(reward, row, [complete])[0] - truth(complete))
        text = describe(row["scene"], rng, keep_object=0.6, keep_attribute=0.55)
        (score,) = scored(reward, row, [text])
        vocabulary = [
            *FILLERS,
            *(word for reference in row["reference"] for word in reference.split()),
        ]
        for _ in range(arguments.steps // CHILDREN):
            children = [mutant(text, vocabulary, rng) for _ in range(CHILDREN)]
            scores = scored(reward, row, children)
            at = max(range(CHILDREN), key=scores.__getitem__)
            if scores[at] >= score:  # what costs nothing stays, too: a policy drifts there
                text, score = children[at], scores[at]
        best.append(finding(text, score, truth))
    return summary(best, honest)


def mutant(text: str, vocabulary: Sequence[str], rng: random.Random) -> str:
    """One change of one word or phrase."""
    words = text.split(" ")
    at = rng.randrange(len(words))
    kind = rng.choice(("insert", "append", "delete", "double", "swap", "replace", "repeat"))
    if kind == "insert":
        words.insert(at, rng.choice(vocabulary))
    elif kind == "append":
        words.append(rng.choice(vocabulary))
    elif kind == "delete" and len(words) > 1:
        del words[at]
    elif kind == "double":
        words.insert(at, words[at])
    elif kind == "swap":
        other = rng.randrange(len(words))
        words[at], words[other] = words[other], words[at]
    elif kind == "replace":
        words[at] = rng.choice(vocabulary)
    elif kind == "repeat":
        words += words[at : at + 6]
    return " ".join(words)


def scored(reward: Reward, row: dict[str, Any], texts: Sequence[str]) -> list[float]:
    samples: list[Sample] = [read_sample(row, text, row["prompt"]) for text in texts]
    return [verdict.score or 0.0 for verdict in reward.judge_samples(samples)]


def finding(text: str, score: float, truth: Callable[[str], float]) -> dict[str, Any]:
    filler = find_filler(text).share
    return {
        "text": text,
        "reward": score,
        "truth": truth(text),
        "filler": filler,
        "words": len(text.split()),
    }


def summary(best: Sequence[dict[str, Any]], honest: Sequence[float]) -> dict[str, Any]:
    means = {key: fmean(one[key] for one in best) for key in ("reward", "truth", "filler", "words")}
    gaps = [one["reward"] - one["truth"] for one in best]
    return {
        **means,
        "gap": fmean(gaps),
        "gaps": gaps,
        "honest": fmean(honest),
        "found": [one["text"] for one in best],
    }
