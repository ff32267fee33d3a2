"""Reads and writes network files in all supported formats; contains the networks that ship with Keima."""
