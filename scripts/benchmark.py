"""`spanreward benchmark`."""

from training.commands.benchmark.command import main

if __name__ == "__main__":
    main()
