"""`spanreward score`."""

from spanreward.training.commands.score import main

if __name__ == "__main__":
    main()
