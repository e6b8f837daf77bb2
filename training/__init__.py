"""Training with judges as rewards, and what comes after: docs/architecture.md says what each folder
holds.
"""
