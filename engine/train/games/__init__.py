"""Games for training: self-play, and matches between two networks, many games at once."""
