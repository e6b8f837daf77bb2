"""Which of two is better, and how sure that is: pure functions over outcomes, no judge and no
model.
"""
