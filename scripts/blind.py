"""`spanreward blind`."""

from spanreward.training.commands.blind import main

if __name__ == "__main__":
    main()
