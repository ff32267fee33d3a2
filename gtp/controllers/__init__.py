"""Configurations for the controllers that start Keima: their texts, and the command that prints them."""
