"""`spanreward score`."""

from spanreward.rewards.files.home import expand_arguments
from spanreward.training.commands.score import main

if __name__ == "__main__":
    expand_arguments()
    main()
