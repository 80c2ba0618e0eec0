"""Loops found again in the rows that a Python loop left."""
