"""What a policy that looks for reward might write, and what a reward would pay for it."""
