"""Learning from nothing: self-play, training, gate and ratings, generation after generation, on one machine or many."""
