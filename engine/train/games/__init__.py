"""Games that programs play to learn and to compare: self-play and matches of two networks, many at once."""
