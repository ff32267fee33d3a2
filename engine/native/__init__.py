"""Compiles, caches, checks and calls kernels. The only package that uses private parts of numba and llvmlite.

Other packages use the decorator in `jit.py`; docs/kernels.md describes the rest.
"""

from engine.native.processor import choose_processor

choose_processor()  # here, because numba reads its configuration when the first module of the room imports it
