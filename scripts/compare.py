"""`spanreward compare`."""

from spanreward.rewards.files.home import expand_arguments
from spanreward.training.commands.compare import main

if __name__ == "__main__":
    expand_arguments()
    main()
