"""How well a metric's scores and spans agree with what people said of the same texts, as papers'
tables have it.
"""
