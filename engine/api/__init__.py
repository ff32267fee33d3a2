"""The public Python API: what `import keima` exports. docs/api.md has examples.

Colors and vertices are text here; winrates, leads and ownership are those of the side to move. The rest of the engine
does the work; nothing else in Keima imports this package.
"""

from engine.api.game import Color, Game
from engine.api.match import GameRecord, MoveChooser, play_game
from engine.api.network import Evaluation, Network, load_network
from engine.api.player import Analysis, MoveInfo, Player
from engine.errors import BadRules, BadSgf, BadVertex, GoError, IllegalMove
from engine.nets.spec import WeightsError

__all__ = [
    "Analysis",
    "BadRules",
    "BadSgf",
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
