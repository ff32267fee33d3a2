"""Prints the kernels that whole games and their scores load after a player's warm-up.

    python -m tests.players.games_after_warm_up [NETWORK]

Another network than Keima's own is computed by Keima's own kernels.
Every kernel counts with the types that it is called with, whether compiled or read from disk.
"""

import gc
import json
import sys
from pathlib import Path

from numba.core.registry import CPUDispatcher

from engine.color import BLACK
from engine.evaluators.cache import CachedEvaluator
from engine.evaluators.factory import Computing, open_network
from engine.evaluators.rollout import RolloutEvaluator
from engine.game import Game
from engine.players import SearchPlayer, at_rank
from engine.players.base import Limits
from engine.rules import CHINESE, CHINESE_KGS, JAPANESE, NEW_ZEALAND, Rules
from engine.scoring import final_score
from engine.search.params import ROLLOUT_PARAMS, SearchParams
from weights.shipped import DEFAULT_NETWORK

SIZE, VISITS = 7, 6


def loaded() -> set[str]:
    """Return the kernels that this process can run, each with its types."""
    # isinstance() asks a weak proxy for the class of its object and raises once that is gone; type() does not.
    kernels = (each for each in gc.get_objects() if issubclass(type(each), CPUDispatcher))
    return {f"{each.py_func.__qualname__}{types}" for each in kernels for types in each.overloads}


def make_player(network: str | None) -> SearchPlayer:
    """Return a player that searches by a network, or by playouts."""
    if network is None:
        return SearchPlayer(RolloutEvaluator(1), ROLLOUT_PARAMS)
    backend = "auto" if Path(network) == DEFAULT_NETWORK else "numba"
    opened = open_network(network, Computing(backend, threads=1))
    return SearchPlayer(CachedEvaluator(opened.evaluator), SearchParams(), network=opened)


def play_out(player: SearchPlayer, rules: Rules) -> None:
    """Play a game to its end, or as many moves as the board has points three times, and count it."""
    game = Game(SIZE, rules=rules)
    player.new_game()
    while not game.is_over and game.move_number < 3 * SIZE * SIZE:
        game.play(game.to_play, player.genmove(game, game.to_play, Limits(visits=VISITS)).vertex)
    player.genmove(game, BLACK, at_rank(Limits(), "8k", SIZE, SIZE))
    player.genmove(game, BLACK, Limits(seconds=0.05))
    final_score(game, [vertex for chain in player.dead_stones(game) for vertex in chain])
    player.seki_stones(game)
    player.expected_score(game)


def main() -> None:
    """Warm a player up, let it play games by several rules, and print what that loaded as JSON."""
    player = make_player(sys.argv[1] if len(sys.argv) > 1 else None)
    player.warm_up(SIZE, SIZE)
    before = loaded()
    # Without a network, who owns what takes 0.15 s of playouts: then by one rule set for each way of scoring.
    for rules in (CHINESE, CHINESE_KGS, JAPANESE, NEW_ZEALAND) if player.network else (CHINESE_KGS, JAPANESE):
        play_out(player, rules)
    player.close()
    json.dump({"before": sorted(before), "after": sorted(loaded() - before)}, sys.stdout)


if __name__ == "__main__":
    main()
