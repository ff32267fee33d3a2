"""`keima net`: describes, checks, converts and averages network files."""
