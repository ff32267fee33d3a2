"""JSON for other programs to read: the only place where values become JSON text."""

import json
import math
from typing import Any


def json_text(value: Any, **options: Any) -> str:
    """Return a value as valid JSON: a float that is not finite becomes null. options: as `json.dumps` takes them."""
    try:
        return json.dumps(value, allow_nan=False, **options)
    except ValueError:
        # JSON has no word for NaN and infinity; Python's `NaN` stops a browser and jq. Copying is rarely needed.
        return json.dumps(_with_nulls(value), allow_nan=False, **options)


def _with_nulls(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _with_nulls(each) for key, each in value.items()}
    return [_with_nulls(each) for each in value] if isinstance(value, list | tuple) else value
