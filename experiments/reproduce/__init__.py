"""`python -m experiments reproduce`: what each table of the papers needs, and what of it this
machine can run.
"""
