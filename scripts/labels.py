"""`spanreward labels`."""

from spanreward.training.commands.labels.command import main

if __name__ == "__main__":
    main()
