"""The seam between search and evaluators: positions in, evaluations out."""
