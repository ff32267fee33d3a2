"""GTP matches between any programs: refereed games, openings, clocks, SGF, results, Elo with intervals.

`options` are the command's, `settings` the match's. `program` asks a process, `seat` speaks GTP for one
player, `clock` times it, `openings` reads how games begin, `game` arbitrates, `store` keeps files,
`tournament` runs the games, `report` counts, `table` shows, `cli` is the command.
"""

from engine.match.cli import cli_match
from engine.match.errors import MatchError
from engine.match.options import MatchOptions
from engine.match.settings import Entrant, MatchSettings
from engine.match.tournament import MatchResult, run_match

__all__ = ["Entrant", "MatchError", "MatchOptions", "MatchResult", "MatchSettings", "cli_match", "run_match"]
