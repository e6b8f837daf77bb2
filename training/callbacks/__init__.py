"""Trainer callbacks, for TRL's own trainers and SpanGRPOTrainer (docs/trainer.md), and the names of
problems that can stop a run.
"""

# The keys are the names that `stop_on` and --stop-on take. training/health.py detects the problems.
# The dict is in this file because the file is quick to import.
PROBLEMS = {
    "failed": "a judge fails on most completions",
    "unscored": "no completion of a batch has a score",
    "zero_variance": "all completions of a prompt have one score",
    "saturation": "nearly all completions have the whole reward",
    "length": "completions are far longer or shorter than at the start",
    "degenerate": "completions are padded with words that say nothing",
    "runaway": "completions outgrow their references, or are cut, while the reward rises",
    "audit": "a cascade's teacher finds its student wrong more often than at the start",
    "yes_rate": "a judge of pictures says yes to many things that they lack",
}
