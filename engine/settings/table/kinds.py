"""Short words for the rows of the table: one for each kind of value, and `under` for what rows have in common."""

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
    """Return rows with the heading and the surfaces that they share."""
    return tuple(each._replace(heading=heading, surfaces=surfaces) for each in rows)
