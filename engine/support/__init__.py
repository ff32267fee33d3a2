"""Utilities without any knowledge of Go: files, logs, memory, signals, installation, statistics, progress."""
