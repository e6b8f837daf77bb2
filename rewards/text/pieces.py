"""The pieces that a stage of reading (written.py) yields of a text, in order.

Kept: characters [start, end) that stay in the text. Put: a new text, and the offset that the new
text comes from. Dropped: characters [start, end) that are removed, and their kind.
"""

Kept = tuple[int, int]
Put = tuple[str, int]
Dropped = tuple[int, int, str]
Piece = Kept | Put | Dropped

# the kinds of dropped characters, in words for people
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
