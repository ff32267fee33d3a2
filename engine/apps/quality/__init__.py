"""`keima bench --quality`: judges the moves of searches by a deep search of the same network."""
