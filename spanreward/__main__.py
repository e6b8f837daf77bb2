"""`python -m spanreward COMMAND`, and for several processes `accelerate launch ... -m spanreward
train RECIPE`.
"""

from spanreward.training.commands.main import main

if __name__ == "__main__":
    main()
