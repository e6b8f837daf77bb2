"""Rows that ask to be judged with others', to harm them."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from experiments.attack.judges import POISON, SECRET
from experiments.attack.pictures import blank
from experiments.attack.server import JUDGES, Attacked, serving

HONEST = 100
REFERENCE = "A red circle is above a blue square."
CONTEXT = "A red circle is above a blue square."


def poisoned_rows() -> dict[str, Any]:
    """Does one client's poisoned row fail other clients' rows, and does it tell them its text?"""
    row = {"completion": "A red circle.", "reference": REFERENCE}
    hostile = {"completion": f"A {POISON} circle.", "reference": REFERENCE}
    with serving("posh", "--judge", f"{JUDGES}:fragile") as server:
        verdicts = beside(server, row, hostile)
    return {
        "poisoned rows: honest rows without a score": lost(verdicts),
        "poisoned rows: honest rows that tell a secret": f"{telling(verdicts)} of {len(verdicts)}",
    }


def pictures_for_the_blind() -> dict[str, Any]:
    """Does a row with a picture fail the rows without, where the judge reads only text?"""
    row = {"completion": "A red circle.", "context": CONTEXT}
    hostile = {"completion": "A red circle.", "image": blank("PNG", 8)}
    with serving("harmonic", "--judge", f"{JUDGES}:text_only") as server:
        verdicts = beside(server, row, hostile)
    return {"picture to a text judge: honest rows without a score": lost(verdicts)}


def beside(server: Attacked, row: dict[str, Any], hostile: dict[str, Any]) -> list[Any]:
    """Returns the verdicts of HONEST rows of as many clients, beside a hostile row for each tenth.

    They arrive together, so that they share a batch.
    """
    bodies = []
    for number in range(HONEST):
        bodies.append({"rows": [row]})
        if number % 10 == 0:
            bodies.append({"rows": [hostile]})
    with ThreadPoolExecutor(len(bodies)) as clients:
        answers = list(clients.map(server.post, bodies))
    verdicts = []
    for body, (_, answer) in zip(bodies, answers, strict=True):
        if body["rows"][0] is row:
            verdicts += answer.get("verdicts", [{"score": None, "note": ""}])
    return verdicts


def unscored(verdicts: list[Any]) -> int:
    count = 0
    for verdict in verdicts:
        if verdict["score"] is None:
            count += 1
    return count


def telling(verdicts: list[Any]) -> int:
    """Returns how many of the notes have what the poisoned row brought along."""
    count = 0
    for verdict in verdicts:
        if SECRET in verdict["note"] or POISON in verdict["note"]:
            count += 1
    return count


def lost(verdicts: list[Any]) -> str:
    return f"{unscored(verdicts)} of {len(verdicts)}"
