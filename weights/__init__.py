"""Keima's memory: network files, their formats, and what ships with the engine."""
