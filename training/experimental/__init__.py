"""Commands that work but are not proven. They may change or be removed in any release (README.md).

The core imports nothing from here. training/commands/main.py finds a command here by its name.
"""
