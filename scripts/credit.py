"""`spanreward credit`."""

from training.commands.credit import main

if __name__ == "__main__":
    main()
