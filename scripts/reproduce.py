"""`spanreward reproduce`."""

from training.commands.reproduce.command import main

if __name__ == "__main__":
    main()
