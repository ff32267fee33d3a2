"""Research beside the main path: deep Q-learning."""
