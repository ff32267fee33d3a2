"""The table of all settings, from which command line, GTP, JSON, web form and TOML files are built.

The rows are in `play` (a game and a session), `match` (match, levels), `network` (evaluators and the machine),
`programs` (web, solve, review, bench, draw), `net` (the commands under net), `book`, `tuning` (tune), `training`
(training runs and self-play) and `samples` (training data). Search parameters are declared by the fields of
`engine.search.params.SearchParams` and added here. Imports nothing heavy.
"""

from typing import Any

from engine.search.params import SEARCH_SETTINGS
from engine.settings.setting import Setting
from engine.settings.table.book import BOOK_ROWS
from engine.settings.table.match import MATCH_ROWS
from engine.settings.table.net import NET_ROWS
from engine.settings.table.network import NETWORK_ROWS
from engine.settings.table.play import PLAY_ROWS
from engine.settings.table.programs import PROGRAM_ROWS
from engine.settings.table.samples import SAMPLE_ROWS
from engine.settings.table.surfaces import GTP, JSON, SEARCH
from engine.settings.table.training import TRAINING_ROWS
from engine.settings.table.tuning import TUNING_ROWS


def _search_rows() -> tuple[Setting, ...]:
    """Return the rows of the search parameters: for --set and TOML and, if KataGo has a name for it, GTP and JSON."""
    known = {True: (SEARCH, GTP, JSON), False: (SEARCH,)}
    return tuple(each._replace(surfaces=known[bool(each.katago)]) for each in SEARCH_SETTINGS.values())


TABLE: tuple[Setting, ...] = (
    *(*PLAY_ROWS, *MATCH_ROWS, *NETWORK_ROWS, *PROGRAM_ROWS, *NET_ROWS, *TUNING_ROWS),
    *(*TRAINING_ROWS, *SAMPLE_ROWS, *BOOK_ROWS),
    *_search_rows(),
)
"""Every setting of every surface, in the order in which `--help` shows them under their headings."""


def settings_on(surface: str) -> dict[str, Setting]:
    """Return the settings of one surface, such as "train run" or `surfaces.GTP`, by name."""
    return {each.name: each for each in TABLE if surface in each.surfaces}


def default_of(name: str, surface: str) -> Any:
    """Return the default of a setting on a surface. Raises KeyError if the surface does not have it."""
    return settings_on(surface)[name].default
