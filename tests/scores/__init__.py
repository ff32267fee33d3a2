"""Scores of finished games: the engine's count and dead stones beside a reference."""
