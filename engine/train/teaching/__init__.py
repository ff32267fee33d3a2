"""Learning from a teacher: networks, searches and GTP programs that label positions."""
