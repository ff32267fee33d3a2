"""Learning from samples: the trainable network, the loss, the training loop and the run folder."""
