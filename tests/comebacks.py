"""How often a rank wins a game after all in which it would have resigned.

    python -m tests.comebacks --size 9 --games 24 --rank 21k --rank 9k [--early]

Each rank plays against itself by Keima's own network, nobody resigns, and the first side that would have is noted.
With --early it would have resigned as a player of full strength does.
"""

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from engine.apps.levels.games import RULES, komi_on
from engine.color import BLACK, WHITE
from engine.evaluation.evaluator import Evaluator
from engine.evaluators.factory import Computing, open_network
from engine.evaluators.joined import JoinedEvaluator
from engine.game import Game
from engine.players import Limits, SearchPlayer, at_rank
from engine.players.resignation import Resigner
from engine.players.weaker_play import resigning_at_level
from engine.rules import parse_rules
from engine.scoring import final_score
from engine.search.params import SearchParams
from engine.settings.levels import RANKS, level_at
from weights.shipped import DEFAULT_NETWORK

_AT_ONCE = 12
_LONGEST = 3
"""Most moves of a game, as a multiple of the board's points."""


def would_have_won(evaluator: Evaluator, rank: str, size: int, is_early: bool, _: int) -> bool | None:
    """Play a game and return whether the first side that would have resigned won it, None if none would have."""
    game = Game(size, rules=parse_rules(RULES), komi=komi_on(size))
    params = SearchParams(allow_resignation=False, max_memory_mib=8)
    resigning = resigning_at_level(SearchParams(), None if is_early else level_at(rank, size, size))
    players = {color: SearchPlayer(evaluator, params) for color in (BLACK, WHITE)}
    resigner, gave_up = Resigner(), None
    while not game.is_over and game.move_number < _LONGEST * size**2:
        color = game.to_play
        decision = players[color].genmove(game, color, at_rank(Limits(), rank, size, size))
        if gave_up is None and resigner.gives_up(game, color, decision, resigning):
            gave_up = color
        game.play(color, decision.vertex)
    return None if gave_up is None else (final_score(game, []) > 0) == (gave_up == BLACK)


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.comebacks", description=__doc__)
    parser.add_argument("--size", type=int, default=9)
    parser.add_argument("--games", type=int, default=24)
    parser.add_argument("--rank", action="append", choices=RANKS, required=True)
    parser.add_argument("--early", action="store_true")
    asked = parser.parse_args()
    evaluator = JoinedEvaluator(open_network(DEFAULT_NETWORK, Computing(threads=1)).evaluator)
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        for rank in asked.rank:
            play = partial(would_have_won, evaluator, rank, asked.size, asked.early)
            ended = [each for each in threads.map(play, range(asked.games)) if each is not None]
            print(f"{rank}: {len(ended)} of {asked.games} would have resigned, {sum(ended)} of them won", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
