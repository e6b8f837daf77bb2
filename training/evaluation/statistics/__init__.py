"""What the scores say of the models: means, differences and verdicts, with what limits them."""
