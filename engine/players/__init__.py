"""Players: everything that chooses moves. The protocol is in `base`, its implementations beside it."""

from engine.players.base import AnalysisRequest, Avoided, Decision, Limits, Player, Watch, at_rank, limits_within
from engine.players.moves import chains, safe_vertices
from engine.players.random_player import RandomPlayer
from engine.players.reflex_player import ReflexPlayer
from engine.players.search_player import SearchPlayer

__all__ = [
    "AnalysisRequest",
    "Avoided",
    "Decision",
    "Limits",
    "Player",
    "RandomPlayer",
    "ReflexPlayer",
    "SearchPlayer",
    "Watch",
    "at_rank",
    "chains",
    "limits_within",
    "safe_vertices",
]
