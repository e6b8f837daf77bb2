"""CapRL scores a description by the questions about the picture that it answers (arXiv
2509.22647).
"""
