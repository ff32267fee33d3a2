"""Constructors of table rows: one for each kind of value, and `under` for rows that share heading and surfaces."""

from functools import partial

from engine.settings.setting import Heading, Kind, Setting

flag = partial(Setting, Kind.TRUTH, default=False)
integer = partial(Setting, Kind.INTEGER)
real = partial(Setting, Kind.NUMBER)
choice = partial(Setting, Kind.CHOICE)
text = partial(Setting, Kind.TEXT)
size = partial(Setting, Kind.SIZE)
counts = partial(Setting, Kind.COUNTS)
rules = partial(Setting, Kind.RULES)
assignment = partial(Setting, Kind.ASSIGNMENT, many=True, flags=("--set",))
input_file = partial(Setting, Kind.INPUT_FILE)
output_file = partial(Setting, Kind.OUTPUT_FILE)
input_folder = partial(Setting, Kind.INPUT_FOLDER)
output_folder = partial(Setting, Kind.OUTPUT_FOLDER)
input_path = partial(Setting, Kind.INPUT_PATH)


def under(heading: Heading, surfaces: tuple[str, ...], *rows: Setting) -> tuple[Setting, ...]:
    """Return `rows` with this heading and these surfaces."""
    return tuple(each._replace(heading=heading, surfaces=surfaces) for each in rows)
