"""SIGINT is Ctrl-C in all tests, also where a shell runs them in its background and lets them ignore it."""

import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
