"""GTP matches between any two programs: refereed games, SGF, results, Elo with intervals.

`program` asks a process, `seat` speaks GTP for one player, `game` arbitrates, `store` keeps files,
`tournament` runs the games, `report` counts, `cli` is the command.
"""

from engine.match.cli import cli_match
from engine.match.clock import TimeLimit
from engine.match.settings import MatchError, MatchSettings
from engine.match.tournament import MatchResult, run_match

__all__ = ["MatchError", "MatchResult", "MatchSettings", "TimeLimit", "cli_match", "run_match"]
