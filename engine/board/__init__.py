"""The one board of Keima: flat arrays and the kernels that play on them."""
