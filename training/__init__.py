"""Training with judges as rewards, and the comparison of trained policies. docs/architecture.md
describes each folder.
"""
