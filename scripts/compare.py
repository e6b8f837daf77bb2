"""`spanreward compare`."""

from spanreward.training.commands.compare import main

if __name__ == "__main__":
    main()
