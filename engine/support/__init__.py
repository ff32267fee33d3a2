"""Utilities that have nothing to do with Go: files, logs, memory, stopping, installation, statistics."""
