"""`keima tune`: tunes search parameters by what the search's moves lose, and confirms the best set in games."""
