"""The only board of Keima: flat arrays and the kernels that play on them."""
