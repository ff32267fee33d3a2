"""Everything that touches numba's and llvmlite's inside: compiling, caching, checking and calling kernels.

`jit.py` has the decorator that the other rooms use; docs/kernels.md explains the room.
"""

from engine.native.processor import choose_processor

choose_processor()  # here, because numba reads its configuration when the first module of the room imports it
