"""Monte Carlo tree search on flat arrays, over any evaluator."""
