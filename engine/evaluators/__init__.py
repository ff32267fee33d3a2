"""What a position is worth: networks, rollouts and wrappers behind one interface."""
