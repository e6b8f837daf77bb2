"""What comes of the cases that people reported in public, now and at an earlier commit.

    python -m experiments field ../shared/field --json now.json  # a Markdown table, one line a case
    python -m experiments field ../shared/field --before then.json
    # beside the numbers of another commit

`before` is this command's --json at that commit; docs/evidence/field-before.json has 061299a, from
before issue 49.
"""

import argparse
import json
from pathlib import Path

from experiments.field.answers import answer_cases
from experiments.field.meaning_compare import compare_cases
from experiments.field.meaning_rows import meaning_row_cases
from experiments.field.rows import row_cases
from experiments.field.servers import server_cases
from experiments.field.texts import text_cases
from spanreward.rewards import MatchJudge, PoshReward

BEFORE = Path(__file__).parents[2] / "docs/evidence/field-before.json"


def outcomes(folder: Path) -> dict[str, str]:
    """Returns what comes out of each case, by its file and name."""
    found = {
        f"text: {case.name}": f"{case.score:.2f}"
        for case in text_cases(PoshReward(MatchJudge()), folder)
    }
    for case in answer_cases(folder):
        scores = (case.vqa_accuracy, case.token_f1, case.lave)
        found[f"answer: {case.case}"] = ", ".join(
            "none" if score is None else f"{score:.2f}" for score in scores
        )
    found |= {f"row: {name}": outcome for name, outcome in row_cases(folder)}
    found |= {f"meaning: {name}": outcome for name, outcome in meaning_row_cases(folder)}
    found |= {f"compare: {name}": outcome for name, outcome in compare_cases(folder)}
    return found | {f"server: {name}": outcome for name, _, outcome in server_cases(folder)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folder", type=Path, help="the folder with texts, answers, rows and servers"
    )
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the outcomes there too")
    parser.add_argument(
        "--before", type=Path, default=BEFORE, help="outcomes of another commit (default: 061299a)"
    )
    arguments = parser.parse_args()
    before = json.loads(arguments.before.read_text()) if arguments.before.is_file() else {}
    found = outcomes(arguments.folder)
    print("| case | before | now |\n|---|---|---|")
    for case, outcome in found.items():
        print(f"| {case} | {before.get(case, '')} | {outcome} |")
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
