"""Figures of matplotlib, which is optional, as PNG. The only module that imports it, when the first figure is made."""

from io import BytesIO
from typing import TYPE_CHECKING

from engine.errors import GoError

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure


class NoMatplotlib(GoError):
    """matplotlib is not installed; the message says how to install it."""


def new_figure(width: float, height: float) -> "Figure":
    """Return an empty figure; width and height in inches. Raises NoMatplotlib."""
    try:
        # Not pyplot, which chooses a window system and keeps every figure in memory.
        from matplotlib.figure import Figure
    except ImportError as error:
        raise NoMatplotlib("plots need matplotlib, which is not installed: pip install 'keima[plot]'") from error
    return Figure(figsize=(width, height), layout="constrained")


def png(figure: "Figure", dpi: int = 110) -> bytes:
    """Return a figure as PNG."""
    picture = BytesIO()
    figure.savefig(picture, format="png", dpi=dpi)
    return picture.getvalue()
