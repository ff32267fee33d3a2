"""`keima levels`: how players of each rank choose their moves, and matches that measure how strong they are."""
