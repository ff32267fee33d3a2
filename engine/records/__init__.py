"""Reads and writes game records in SGF, and positions as text diagrams."""
