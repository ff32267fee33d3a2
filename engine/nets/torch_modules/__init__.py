"""Networks as modules of torch's."""
