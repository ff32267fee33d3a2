"""`keima book`: builds opening books by searches, shows their positions, plays from them."""
