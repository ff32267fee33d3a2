"""Players at the end of real games, with a network: whom they judge dead, when they pass, what it costs."""

from collections.abc import Iterator
from typing import Any

import pytest

from engine.evaluators.cache import CachedEvaluator
from engine.evaluators.factory import Computing, open_network
from engine.game import Game
from engine.players import Limits, SearchPlayer
from engine.rules import CHINESE, JAPANESE, TROMP_TAYLOR, Rules
from engine.scoring import final_score
from engine.search.params import SearchParams
from engine.vertex import PASS, format_vertex
from tests.golden.records import play_record, read_golden
from tests.shared import require_shared

pytestmark = pytest.mark.slow

VISITS = 100
MOST_PLIES = 60
GAMES = 20


@pytest.fixture(scope="module")
def thinker() -> Iterator[SearchPlayer]:
    """Return a player that never resigns."""
    file = require_shared("nets/g170-b6c96-s175395328-d26788732.bin.gz")
    network = open_network(file, Computing(threads=2))
    player = SearchPlayer(CachedEvaluator(network.evaluator), SearchParams(allow_resignation=False), network=network)
    yield player
    player.close()


def finished(kind: str) -> list[Any]:
    """Return the records of games whose score of a kind is agreed on."""
    data = read_golden(require_shared("golden/scores.json.gz"))
    return [record for record in data["records"] if kind in record]


def dead_names(thinker: SearchPlayer, game: Game) -> list[str]:
    dead = [vertex for chain in thinker.dead_stones(game) for vertex in chain]
    return sorted(format_vertex(vertex, game.width, game.height) for vertex in dead)


@pytest.mark.parametrize(("kind", "rules"), [("area", CHINESE), ("territory", JAPANESE)])
def test_dead_stones_and_scores_are_those_that_other_engines_agree_on(
    thinker: SearchPlayer, kind: str, rules: Rules
) -> None:
    records = finished(kind)
    assert len(records) > 50
    for record in records:
        game = play_record(record, lenient=True)
        game.set_rules(rules)
        thinker.new_game()
        dead = [vertex for chain in thinker.dead_stones(game) for vertex in chain]
        assert dead_names(thinker, game) == sorted(record[kind]["dead"]), record["id"]
        assert -final_score(game, dead) == record[kind]["white_minus_black"], record["id"]


@pytest.mark.parametrize(
    ("rules", "kind", "soon"), [(CHINESE, "area", True), (JAPANESE, "territory", True), (TROMP_TAYLOR, "area", False)]
)
def test_finished_games_are_passed_out_and_cost_nobody_a_point(
    thinker: SearchPlayer, rules: Rules, kind: str, soon: bool
) -> None:
    records = [record for record in finished("area") if "territory" in record and max(record["size"]) <= 13][:GAMES]
    passed_soon = 0
    for record in records:
        game = play_record(record, lenient=True)
        while game.moves and game.moves[-1].vertex == PASS:
            game.undo()
        game.set_rules(rules)
        thinker.new_game()
        start = game.move_number
        while not game.is_over and game.move_number < start + MOST_PLIES:
            game.play(game.to_play, thinker.genmove(game, game.to_play, Limits(visits=VISITS)).vertex)
        dead = [vertex for chain in thinker.dead_stones(game) for vertex in chain]
        assert game.is_over, record["id"]
        assert -final_score(game, dead) == record[kind]["white_minus_black"], record["id"]
        passed_soon += game.move_number <= start + 2
    assert len(records) == GAMES
    assert passed_soon >= GAMES - 2 or not soon
