"""Builds torch modules from networks."""
