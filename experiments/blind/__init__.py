"""People compare two sides of a comparison, blind: what is handed to them, and what their answers
say.
"""
