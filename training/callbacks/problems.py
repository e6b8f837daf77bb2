"""The problems that a reward's health may have, by the names that `stop_on` and --stop-on take.

What is measured and where a problem begins is in training/callbacks/reward_health.py; this file only names them, and is
quick to import.
"""

PROBLEMS = {
    "failed": "a judge fails on most completions",
    "zero_variance": "all completions of a prompt have one score",
    "saturation": "nearly all completions have the whole reward",
    "length": "completions are far longer or shorter than at the start",
    "repetition": "completions repeat themselves",
    "degenerate": "completions are padded with words that say nothing",
    "runaway": "completions outgrow their references, or are cut, while the reward rises",
    "divergence": "the reward rises against a referee's truth",
}
