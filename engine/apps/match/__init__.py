"""The command `keima match`."""
