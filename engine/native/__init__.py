"""Everything that touches numba's and llvmlite's inside: compiling, caching and calling kernels."""
