"""Slow twins of the engine's fast code: plain Python, written to be obviously right."""
