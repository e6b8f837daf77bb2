"""`spanreward blind`."""

from training.commands.blind import main

if __name__ == "__main__":
    main()
