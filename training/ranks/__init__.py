"""What several processes that train together owe each other: the same rows, whole groups, an end in
time and a sentence.
"""
