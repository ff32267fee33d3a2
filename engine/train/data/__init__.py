"""Training data: samples and their files, game records, windows to draw from, and how well networks foresee records."""
