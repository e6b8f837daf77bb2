"""WildVision-Bench's votes: five labels, the anchor's answer A against the model's answer B.

    {"question_id": "2db1", "model": "m", "anchor": "a", "order": "anchor first", "score": "B>>A",
     "raw": "B>>A", "judge_failed": false, "length_model": 68, "length_anchor": 79}

`score` is the label as published. `raw` is the verdict in the judge's own words; null says that
there is none and the label was filled in. A is the text shown first: with "model first" the model
is A.
"""

from collections.abc import Sequence
from pathlib import Path

from experiments.agreement.vote_folder import (
    Battle,
    Line,
    Once,
    Vote,
    VoteFolder,
    check_labels,
    read_published,
)

LABELS = {"B>>A": 2, "B>A": 1, "A=B": 0, "A>B": -1, "A>>B": -2}  # seen from B
ORDERS = {"anchor first": False, "model first": True}  # whether the model's text stood first


def read(folder: Path, lines: Sequence[Line]) -> VoteFolder:
    """Reads the votes; both orders of a pair are one battle where the file has both."""
    path, once = folder / "votes.jsonl", Once("the vote on")
    anchors = {line.name("anchor") for line in lines}
    if len(anchors) != 1:
        raise ValueError(f"{path} must have one anchor, got {', '.join(sorted(anchors))}.")
    pairs: dict[tuple[str, str], tuple[list[Vote], tuple[int, int] | None]] = {}
    for line in lines:
        model, prompt, order = (
            line.name("model"),
            line.name("question_id"),
            line.row.get("order", "anchor first"),
        )
        if order not in ORDERS:
            raise ValueError(
                f"{line.where}: order is {' or '.join(map(repr, ORDERS))}, got {order!r}."
            )
        once(line, prompt, model, order)
        votes, _ = pairs.setdefault(
            (model, prompt), ([], line.lengths("length_model", "length_anchor"))
        )
        label = line.get("score", (str, type(None))) or ""
        level = LABELS.get(label.strip())
        spoken = line.row.get("raw", label) is not None and not line.row.get("judge_failed", False)
        first = ORDERS[order]
        votes.append(Vote(level if level is None or not first else -level, label, first, spoken))
    battles = tuple(
        Battle(model, prompt, tuple(votes), lengths)
        for (model, prompt), (votes, lengths) in pairs.items()
    )
    check_labels(battles, LABELS, path)
    published = read_published(folder / "published.json").get("models", {})
    return VoteFolder(
        "wildvision_bench", anchors.pop(), battles, published if isinstance(published, dict) else {}
    )
