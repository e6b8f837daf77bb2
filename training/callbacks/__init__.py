"""Trainer callbacks, for stock TRL trainers and SpanGRPOTrainer (docs/trainer.md)."""
