"""Learning from samples: the network as it is trained, the loss, the loop and what belongs to a run."""
