"""What comes from outside: JSONL, YAML, pictures, the hub, servers and a user's own Python file."""
