"""What PoSh pays for 210 frames that were written before the rules of `match` were read, and never
tuned on.

    python -m experiments.hacking.held_out
    python -m experiments.hacking.held_out --judge encoder:outputs/judges/smollm2

held_out_frames.txt has ten frames of each of 21 kinds. Each names a thing that a terse text of
Scenes left out, and claims nothing of it: a frame that gains more than PRICE pays. "There is
{thing} {place}." is the truth, which must pay.
"""

import argparse
from pathlib import Path

from experiments.hacking.families import Family, of_the_picture
from experiments.hacking.payoffs import description_cases, measure_payoffs
from spanreward.rewards import PoshReward
from spanreward.rewards.judges.by_name import load_judge

PRICE = 0.02
TEXTS = 12  # 6 are terse
TRUTH = "There is {thing} {place}."


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--judge", default="match", help="who answers PoSh's questions (default match)"
    )
    judge = load_judge(parser.parse_args().judge)
    lines = Path(__file__).with_name("held_out_frames.txt").read_text(encoding="utf-8").splitlines()
    sentences = [line for line in lines if not line.startswith("#")]
    families = {
        sentence: Family(of_the_picture(sentence), (1,)) for sentence in (*sentences, TRUTH)
    }
    cases = [case for case in description_cases(TEXTS) if case.terse]
    *frames, truth = measure_payoffs(PoshReward(judge), cases, families)
    paid = sorted((one for one in frames if one.price > PRICE), key=lambda one: -one.price)
    for one in paid:
        print(f"{one.price:+.3f}  {one.family}")
    print(
        f"{len(paid)} of {len(frames)} frames pay more than {PRICE}; the truth pays "
        f"{truth.price:+.3f}"
    )


if __name__ == "__main__":
    main()
