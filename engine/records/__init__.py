"""Reads and writes game records in SGF, positions as text diagrams, and the names of players that networks imitate."""
