"""Finished games with a known score: golden records, and games that were played to two passes and counted.

A game is left out for what its record says, never for what the engine makes of it.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from engine.apps.net.records import play_record, read_golden
from engine.color import BLACK, color_letter
from engine.errors import BadSgf
from engine.game import Game
from engine.records.sgf import Record, load_sgf
from engine.records.sgf_source import iterate_sgfl
from engine.rules import CHINESE, CHINESE_KGS, JAPANESE, Rules, preset_name
from engine.train.data.final_scoring import Ending, recorded_result
from engine.train.data.held_out import game_hash
from engine.vertex import PASS, format_vertex, parse_vertex

_LEAST_SIZE = 7
_GOLDEN_RULES = {"area": CHINESE, "territory": JAPANESE}
_COUNTED = re.compile(rb"RE\[[BW]\+[0-9]")


@dataclass(frozen=True)
class FinishedGame:
    """A game after the passes that ended it.

    score: the reference, Black minus White. dead: the reference's dead stones, None where it has none.
    """

    name: str
    game: Game
    score: float
    dead: frozenset[int] | None = None

    @property
    def commands(self) -> list[str]:
        """The GTP that leads any engine to the final position, board and rules first."""
        game, width, height = self.game, self.game.width, self.game.height
        return [
            f"boardsize {width}",
            f"kata-set-rules {preset_name(game.rules) or game.rules.to_json()}",
            f"komi {game.komi:g}",
            "clear_board",
            *([f"set_free_handicap {names(game, game.setup_black)}"] if game.setup_black else []),
            *(f"play {color_letter(move.color)} {format_vertex(move.vertex, width, height)}" for move in game.moves),
        ]


def names(game: Game, vertices: Iterable[int]) -> str:
    """Return vertices as GTP names, sorted."""
    return " ".join(sorted(format_vertex(vertex, game.width, game.height) for vertex in vertices))


def golden_games(folder: Path, kind: str) -> Iterator[FinishedGame]:
    """Yield the golden records whose score by "area" or by "territory" nobody disputes."""
    for record in read_golden(folder / "scores.json.gz")["records"]:
        if kind not in record:
            continue
        game = play_record(record, rules=_GOLDEN_RULES[kind], lenient=True)
        while not game.is_over:
            game.play(game.to_play, PASS)
        dead = frozenset(parse_vertex(name, game.width, game.height) for name in record[kind]["dead"])
        yield FinishedGame(record["id"], game, -record[kind]["white_minus_black"], dead)


def recorded_games(
    path: Path, wanted: Callable[[Rules], Rules | None], left_out: Counter[str]
) -> Iterator[FinishedGame]:
    """Yield the counted games of a file, in an order that only their moves decide.

    wanted: the rules to count a record's games by, None to leave them out. left_out: told why a game is not taken.
    """
    lines = [line for line in iterate_sgfl(path) if _COUNTED.search(line)]
    seen: set[int] = set()
    for digest, line in sorted((game_hash(line), line) for line in lines):
        name = f"{path.name.split('.')[0]} {digest:016x}"
        if digest in seen:
            left_out["played twice"] += 1
            continue
        seen.add(digest)
        try:
            found = _finished(load_sgf(line, name=name), wanted)
        except BadSgf:
            found = "cannot be played"
        if isinstance(found, str):
            left_out[found] += 1
        else:
            yield found


def _finished(record: Record, wanted: Callable[[Rules], Rules | None]) -> FinishedGame | str:
    """Return the game of a record, or why it is left out."""
    result = recorded_result(record.result)
    rules = None if record.rules is None else wanted(record.rules)
    if rules is None:
        return "other rules"
    if record.komi is None:
        return "komi is not told"
    if result.ending is not Ending.COUNT or result.margin is None:
        return "not counted"
    if result.margin % 1 != record.komi % 1:
        return "the margin cannot be had with the komi"
    if record.width != record.height or record.width < _LEAST_SIZE:
        return "board smaller than 7x7"
    if [vertex for _, vertex in record.moves[-2:]] != [PASS, PASS]:
        return "does not end with two passes"
    if any(setup.after or any(color != BLACK for _, color in setup.stones) for setup in record.setups):
        return "other setup than handicap"
    game = record.game(rules=rules)
    if game.no_result:
        return "a position came three times"
    return FinishedGame(record.name, game, result.margin)


def by_area(rules: Rules) -> Rules | None:
    """Count games by area, by the record's own rules; what servers call Chinese forbids to repeat a position."""
    return (CHINESE_KGS if rules == CHINESE else rules) if rules.is_area else None


def by_territory(rules: Rules) -> Rules | None:
    """Count games that were played by Japanese rules."""
    return rules if rules == JAPANESE else None
