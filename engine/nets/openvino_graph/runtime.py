"""The one import of openvino, without the telemetry of its model converter.

`import openvino` also imports the converter, if it is there, which then reports the import to its makers
over the network. Keima builds its models itself and needs no converter.
"""

import os
import sys
from typing import Any, TypeAlias

_CONVERTER = "openvino.tools.ovc"

# oneDNN inside OpenVINO keeps the code of 1024 layers, those of dropped models among them: 46 MiB more after 60 board
# sizes, none with 16. A model compiles as fast: 0.3 s of processor time for four batches either way.
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "16")

_hidden = _CONVERTER not in sys.modules
if _hidden:
    sys.modules[_CONVERTER] = None  # type: ignore[assignment]  # its import now fails, which openvino allows for
try:
    import openvino
    from openvino import opset15 as ops
finally:
    if _hidden:
        del sys.modules[_CONVERTER]

__all__ = ["Node", "openvino", "ops"]

Node: TypeAlias = Any
"""A node, or one output of a node, of OpenVINO's graph; openvino has no types."""
