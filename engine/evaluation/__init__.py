"""The interface between search and evaluators: positions in, evaluations out."""
