"""What a stage of reading yields of a text, in order (written.py): characters [start, end) that
stay, a text that is put at a place, and characters [start, end) that go, with their kind.
"""

Kept = tuple[int, int]
Put = tuple[str, int]
Dropped = tuple[int, int, str]
Piece = Kept | Put | Dropped

# kinds of what goes, in words for people
ANSWER = "an answer beside the description"
AFTER_END = "after the end"
BOXES = "boxes"
ESCAPES = "escapes"
HIDDEN = "hidden text"
HTML = "HTML"
INVISIBLE = "invisible characters"
JSON = "JSON"
LABELS = "labels"
LATEX = "LaTeX"
MARKDOWN = "Markdown"
OTHERS = "another's turn"
OUTSIDE = "outside the judged part"
QUOTES = "quotation marks"
REASONING = "reasoning"
TOKENS = "special tokens"
TOOLS = "tool calls"

PLACE_NAME = r"(?=\w*(?:box|quad|point|poly|loc|coord|det|click|rect|region))(?!\w*end\b)\w++"
