"""What people and programs read of a comparison: results.json, report.html, tables and files for a
paper.
"""
