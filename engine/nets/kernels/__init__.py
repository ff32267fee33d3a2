"""Computes networks on the CPU by Keima's own kernels."""
