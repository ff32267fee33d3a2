"""Game records in SGF, read and written, and positions as text diagrams."""
