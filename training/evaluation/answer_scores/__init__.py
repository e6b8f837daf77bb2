"""What the metrics say of each answer, and which of them a model was trained on."""
