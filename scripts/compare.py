"""`spanreward compare`."""

from training.commands.compare import main

if __name__ == "__main__":
    main()
