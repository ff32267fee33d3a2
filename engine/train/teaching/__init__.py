"""Learning from teachers: networks, searches and GTP programs that label positions."""
