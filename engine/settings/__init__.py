"""Command-line options that several commands share."""
