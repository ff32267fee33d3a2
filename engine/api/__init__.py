"""The library: what `import keima` offers to Python programs. docs/api.md shows it.

Colors and vertices are text here, and figures speak for the side to move. Everything is done by the rooms below.
"""

from engine.api.game import Color, Game
from engine.api.match import GameRecord, MoveChooser, play_game
from engine.api.network import Evaluation, Network, load_network
from engine.api.player import Analysis, MoveInfo, Player
from engine.errors import BadVertex, GoError, IllegalMove
from engine.nets.spec import WeightsError

__all__ = [
    "Analysis",
    "BadVertex",
    "Color",
    "Evaluation",
    "Game",
    "GameRecord",
    "GoError",
    "IllegalMove",
    "MoveChooser",
    "MoveInfo",
    "Network",
    "Player",
    "WeightsError",
    "load_network",
    "play_game",
]
