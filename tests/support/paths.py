"""Where tests find things: the repository, and the data beside it."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SUPPORT = Path(__file__).resolve().parent
DATA = ROOT.parent / "shared" / "data"
