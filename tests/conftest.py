"""SIGINT is Ctrl-C in all tests, also where a shell runs them in its background and lets them
ignore it.

`make quick` leaves out what launches processes, trains, or reads much: the files of SLOW are marked
so. The files of FIRST take longest and start first: at the end of a run no core waits for one (with
--no-loadscope-reorder). Hypothesis takes the same examples in every run, however slow the machine
is.
"""

import signal
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("alike", deadline=None, derandomize=True)
settings.load_profile("alike")
signal.signal(signal.SIGINT, signal.default_int_handler)

SLOW = (
    "experiments/agreement",
    "experiments/benchmark",
    "experiments/blind",
    "experiments/caprl",
    "experiments/commands",
    "experiments/judging/test_teach.py",
    "experiments/labels/test_planted_tables.py",
    "experiments/reproduce",
    "experiments/span_credit",
    "experiments/test_hacking.py",
    "recipes",
    "rewards/experimental/differences/test_differences_smollm2.py",
    "rewards/judges/local",
    "rewards/judges/remote",
    "rewards/judges/shared/test_store.py",
    "rewards/language/test_parse.py",
    "rewards/language/test_unasserted.py",
    "rewards/test_bad_input.py",
    "rewards/test_hostile.py",
    "rewards/test_memory.py",
    "rewards/posh/test_posh_oracle.py",
    "rewards/posh/test_posh_reward.py",
    "test_docs.py",
    "test_readme.py",
    "test_strangers_project.py",
    "test_supply_chain.py",
    "training/callbacks",
    "training/commands",
    "training/evaluation/judged/test_evaluate.py",
    "training/experimental",
    "training/evaluation/page/test_report_browser.py",
    "training/grpo",
    "training/test_accelerate_configs.py",
    "training/test_bad_input.py",
    "training/test_interrupted.py",
    "training/test_resume.py",
    "training/test_run.py",
    "training/test_two_ranks.py",
)

FIRST = (
    "training/test_accelerate_configs.py",
    "recipes/test_recipes.py",
    "experiments/test_hacking.py",
    "training/test_interrupted.py",
    "training/test_stopped_runs.py",
    "training/test_resume.py",
    "training/grpo/test_config.py",
    "training/test_two_ranks.py",
    "test_supply_chain.py",
    "test_docs.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    tests = Path(__file__).parent
    first = {tests / name: number for number, name in enumerate(FIRST)}
    # stable: the others keep their order
    items.sort(key=lambda item: first.get(item.path, len(first)))
    slow = [tests / part for part in SLOW]
    for item in items:
        if any(path == item.path or path in item.path.parents for path in slow):
            item.add_marker(pytest.mark.slow)
