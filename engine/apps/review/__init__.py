"""Reviews games: analyzes every position, finds the mistakes, and writes annotated records and reports."""
