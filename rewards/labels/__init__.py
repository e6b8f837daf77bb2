"""How well scores and spans agree with what people said of the same texts."""
