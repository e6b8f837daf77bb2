"""The search for reward without truth finds what pays, and a small budget finds some of it."""

import argparse

from experiments.benchmark import gap


def test_a_search_keeps_what_widens_the_gap() -> None:
    parser = argparse.ArgumentParser()
    gap.add_arguments(parser)
    words = ["--judges", "match", "--starts", "1", "--evaluations"]
    found = [gap.measure(parser.parse_args([*words, count])) for count in ("40", "120")]
    small, large = (one["searches"]["scenes, match"] for one in found)
    # the same seed, and a larger budget
    assert small["honest"] <= small["gaps"][0] <= large["gaps"][0]
    assert len(large["found"]) == 1
