"""The command of the experiments, from a checkout's root.

python -m experiments --help
python -m experiments credit run outputs/credit
"""

from importlib import import_module

from spanreward.training.commands.main import choose_command

COMMANDS = {  # each command: its module, and what it is for
    "agreement": (
        "commands.agreement.command",
        "how well metrics and judges agree with people and with the truth",
    ),
    "attack": ("attack.command", "what hostile rows, bodies and connections do to `serve`"),
    "benchmark": (
        "benchmark.command",
        "what judging costs, and what rewards pay for what they should not",
    ),
    "blind": ("commands.blind", "let people compare two sides without knowing which is which"),
    "captions": ("captions", "text-only rows for a language model from people's captions"),
    "credit": ("commands.credit", "whether span credit teaches faster than the scalar"),
    "curves": ("commands.curves", "draw what several trainings logged, by step"),
    "field": (
        "field.command",
        "what comes of the cases that people reported in public, before and now",
    ),
    "labels": (
        "commands.labels",
        "a metric against people's judgments of your own, as papers' tables have it",
    ),
    "meaning": (
        "meaning.command",
        "whether reading keeps what texts mean, and drops their markup alone",
    ),
    "mistakes": (
        "mistakes.command",
        "what people get wrong, what they are told, and after how many seconds",
    ),
    "picture-map": (
        "picture_map.command",
        "when it pays to show the judge the picture, by training",
    ),
    "repeat": ("commands.repeat", "train one recipe over seeds and numerical environments"),
    "reproduce": (
        "reproduce.command",
        "run the papers' tables with the data at hand, or list what they take",
    ),
    "sft-or-rl": (
        "commands.sft_or_rl",
        "draw which of SFT and RL won, by the references they learnt from",
    ),
    "trainings": (
        "trainings.command",
        "situations of training that people reported, re-enacted with tiny policies",
    ),
    "trl-tests": ("trl_tests.command", "TRL's own tests of its trainer, with ours in its place"),
    "teach": ("judging.teach", "teach a small language model to judge Scenes"),
    "updates": ("updates", "how many updates one rollout of DAPO should pay for"),
}


def main() -> None:
    about = "What proves the claims of this repository."
    command = choose_command(
        "python -m experiments", about, {name: purpose for name, (_, purpose) in COMMANDS.items()}
    )
    import_module(f"experiments.{COMMANDS[command][0]}").main()


if __name__ == "__main__":
    main()
