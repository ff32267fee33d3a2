"""Explains positions and moves by facts that searches and the board show."""
