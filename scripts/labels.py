"""`spanreward labels`."""

from spanreward.training.commands.labels import main

if __name__ == "__main__":
    main()
