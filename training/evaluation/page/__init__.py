"""Writes the results of a comparison for people and programs: results.json, report.html, tables and
files for a paper.
"""
