"""`spanreward agreement`."""

from training.commands.agreement import main

if __name__ == "__main__":
    main()
