"""What a model wrote, read the same way by every metric: plain text, length, filler and quoting."""
