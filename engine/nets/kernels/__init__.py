"""Networks computed by kernels of Keima's own."""
