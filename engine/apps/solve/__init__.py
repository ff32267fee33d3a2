"""`keima solve`: solves problems with known answers and reports the share solved."""
