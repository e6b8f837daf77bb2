"""`spanreward repeat`."""

from training.commands.repeat import main

if __name__ == "__main__":
    main()
