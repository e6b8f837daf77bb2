"""`spanreward train`, for launchers that take a file: accelerate launch scripts/train.py RECIPE."""

from spanreward.rewards.files.home import expand_arguments
from spanreward.training.commands.train import main

if __name__ == "__main__":
    expand_arguments()
    main()
