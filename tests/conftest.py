"""SIGINT is Ctrl-C in all tests, also where a shell runs them in its background and lets them
ignore it.

`make test-runs` has the files of RUNS: their tests start whole commands of ours, servers and
browsers in processes of their own (a recipe, two ranks, a run that is interrupted), or train to an
end and once more from the middle. They take more than half of all time, so `make test` leaves them
out. `make quick` also leaves out what trains or reads much: the files of
SLOW. The files of FIRST take longest and start first: at the end of a run no core waits for one
(with --no-loadscope-reorder). Hypothesis takes the same examples in every run, however slow the
machine is.
"""

import signal
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("alike", deadline=None, derandomize=True)
settings.load_profile("alike")
signal.signal(signal.SIGINT, signal.default_int_handler)

TESTS = Path(__file__).parent

RUNS = (
    "recipes", "rewards/base/test_needs.py", "test_supply_chain.py", "test_wheel.py",
    "training/callbacks/test_two_ranks_health.py", "training/commands/test_main.py",
    "training/evaluation/page/test_browser.py", "training/experimental",
    "training/grpo/test_by_the_docs.py", "training/grpo/test_drop_in.py",
    "training/grpo/test_ranks_agree.py", "training/grpo/trl_internals/test_resuming.py",
    "training/ranks/test_two_ranks_lost.py", "training/serve",
    "training/test_accelerate_configs.py", "training/test_interrupted.py",
    "training/test_resume.py", "training/test_stopped_runs.py", "training/test_two_ranks.py",
)  # fmt: skip

SLOW = (
    "experiments/agreement", "experiments/benchmark", "experiments/blind", "experiments/caprl",
    "experiments/commands", "experiments/judging/test_teach.py",
    "experiments/labels/test_planted_tables.py", "experiments/reproduce",
    "experiments/span_credit", "experiments/test_hacking.py",
    "rewards/experimental/differences/test_differences_smollm2.py", "rewards/judges/local",
    "rewards/judges/remote", "rewards/judges/cache/test_store.py",
    "rewards/language/test_parse.py", "rewards/language/test_unasserted.py",
    "rewards/test_bad_input.py", "rewards/test_hostile.py", "rewards/test_memory.py",
    "rewards/posh/test_posh_oracle.py", "rewards/posh/test_posh_reward.py", "test_docs.py",
    "test_readme.py", "test_strangers_project.py", "training/callbacks", "training/commands",
    "training/evaluation/answer_scores/test_evaluate.py", "training/grpo",
    "training/test_run.py",
)  # fmt: skip

FIRST = (
    "training/test_accelerate_configs.py", "recipes/test_recipes.py", "experiments/test_hacking.py",
    "training/test_interrupted.py", "training/test_stopped_runs.py", "training/test_resume.py",
    "training/grpo/test_config.py", "training/test_two_ranks.py", "test_supply_chain.py",
    "test_docs.py",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    first = {TESTS / name: number for number, name in enumerate(FIRST)}
    # stable: the others keep their order
    items.sort(key=lambda item: first.get(item.path, len(first)))
    for item in items:
        if _is_in(item, RUNS):
            item.add_marker(pytest.mark.runs)
            item.add_marker(pytest.mark.slow)
        elif _is_in(item, SLOW):
            item.add_marker(pytest.mark.slow)


def _is_in(item: pytest.Item, parts: tuple[str, ...]) -> bool:
    """Whether the item's file is one of `parts` or lies in one of these folders."""
    for part in parts:
        path = TESTS / part
        if path == item.path or path in item.path.parents:
            return True
    return False
