"""Serves one reward over HTTP, for `spanreward serve`. No package that only a trainer needs is
imported.
"""
