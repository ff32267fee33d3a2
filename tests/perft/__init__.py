"""Counts with known answers, and random games against the naive board."""
