"""`keima learn`: a folder of games becomes a fine-tuned network, with a report."""
