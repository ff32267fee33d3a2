"""Training data: samples and their files, game records, windows to draw from, and tests of networks on records."""
