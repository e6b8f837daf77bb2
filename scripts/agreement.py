"""`spanreward agreement`."""

from training.commands.agreement.command import main

if __name__ == "__main__":
    main()
