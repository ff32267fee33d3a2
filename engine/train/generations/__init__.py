"""Learning from zero: generations of self-play, training, gate and ratings, on one machine or several."""
