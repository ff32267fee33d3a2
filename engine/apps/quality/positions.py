"""Chooses the positions of `keima bench --quality` from game records, by rule.

Games are taken in the order of their hashes, held-out games never. Each pass over them takes one position of a game, in
turns from an opening, a fight and an endgame, at a move that the hash determines. The komi of a position is set so that
the network calls the game even: where a game is decided, no move has a value that differs from another's.
"""

import hashlib
import math
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from engine.encoders.game_positions import write_position
from engine.errors import BadSgf, GoError, IllegalMove
from engine.evaluation.evaluation import Evaluation, black_value
from engine.evaluation.evaluator import Evaluator
from engine.evaluation.positions import PositionBatch
from engine.game import Game
from engine.players.moves import chains
from engine.records.sgf import Record, load_sgf
from engine.records.sgf_source import iterate_records
from engine.rules import TROMP_TAYLOR
from engine.train.data.held_out import game_hash, is_held_out
from engine.vertex import PASS, format_vertex, neighbors

SHARES = {"opening": (0.1, 0.25), "fight": (0.3, 0.7), "endgame": (0.7, 0.9)}
"""Range of the share of a game's moves that have been played, for each phase."""
RECORDS = ("strong9.sgfl.bz2", "small13.sgfl.bz2", "ai19.sgfl.bz2")
"""Files in the folder `games` of KEIMA_SHARED that are read by default."""
_SIZE = re.compile(rb"SZ\[(\d+)(?::(\d+))?\]")
_LEAST_CHAIN, _FEW_LIBERTIES = 2, 2
_DECIDED = 1 / 8
"""Lead as a share of the board's points above which a game is decided and its position is not used."""
_DRAWN_BITS = 10


class Position(NamedTuple):
    """One position. key: of its moves, komi and rules; the same in every run."""

    key: str
    phase: str
    game: Game


def default_records() -> list[Path]:
    """Return the default files of records. Raises GoError if KEIMA_SHARED does not lead to them."""
    folder = Path(os.environ.get("KEIMA_SHARED", "../shared")) / "games"
    paths = [folder / name for name in RECORDS]
    if not all(path.is_file() for path in paths):
        raise GoError(f"{folder} has no {' '.join(RECORDS)}: name game records with --records, or set KEIMA_SHARED")
    return paths


def positions_of(sources: Sequence[Path], size: tuple[int, int], count: int, evaluator: Evaluator) -> list[Position]:
    """Return `count` positions on a board of this size, fewer if the records have no more. Raises BadSgf."""
    texts = [data for _, data in iterate_records(sources) if _may_have_size(data, size) and not is_held_out(data)]
    found: dict[str, Position] = {}
    for phase, game in _games(sorted(texts, key=game_hash), size):
        if len(found) == count:
            break
        even = _even(game, evaluator)
        if even is not None:
            position = Position(key_of(even), phase, even)
            found.setdefault(position.key, position)
    return list(found.values())


def key_of(game: Game) -> str:
    """Return the key of a position with its history, komi and rules."""
    moves = " ".join(format_vertex(move.vertex, game.width, game.height) for move in game.moves)
    text = f"{game.width}x{game.height} {game.komi} {game.rules.to_json()} {moves}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _may_have_size(data: bytes, size: tuple[int, int]) -> bool:
    """Return whether a record names this board size; parsing thousands of other records would take minutes."""
    match = _SIZE.search(data)
    return match is not None and (int(match[1]), int(match[2] or match[1])) == size


def _games(texts: Sequence[bytes], size: tuple[int, int]) -> Iterator[tuple[str, Game]]:
    """Yield the phase and the game up to each chosen position."""
    phases = list(SHARES)
    for turn in range(len(phases)):
        for place, text in enumerate(texts):
            phase = phases[(place + turn) % len(phases)]
            try:
                record = load_sgf(text)
            except BadSgf:
                continue
            if (record.width, record.height) == size and not record.setups:
                game = _game_at(record, phase, game_hash(text))
                if game is not None:
                    yield phase, game


def _game_at(record: Record, phase: str, drawn: int) -> Game | None:
    """Return the game up to the position of a phase, None if it has none."""
    low, high = SHARES[phase]
    share = low + (high - low) * (drawn % (1 << _DRAWN_BITS)) / (1 << _DRAWN_BITS)
    wanted, last = round(share * len(record.moves)), round(high * len(record.moves))
    game = Game(record.width, record.height, rules=TROMP_TAYLOR)
    for color, vertex in record.moves[:last]:
        if game.move_number >= wanted and (phase != "fight" or _is_fight(game)):
            break
        # A pass may end the game, and records of other rules have moves that these forbid.
        if color != game.to_play or vertex == PASS:
            return None
        try:
            game.play(color, vertex)
        except IllegalMove:
            return None
    is_found = game.move_number >= max(1, wanted) and (phase != "fight" or _is_fight(game))
    return game if is_found else None


def _is_fight(game: Game) -> bool:
    """Return whether a chain of at least two stones has at most two liberties."""
    for chain in chains(game):
        if len(chain) >= _LEAST_CHAIN:
            beside = {near for vertex in chain for near in neighbors(vertex, game.width)}
            if sum(game.color_at(vertex) == 0 for vertex in beside) <= _FEW_LIBERTIES:
                return True
    return False


def _even(game: Game, evaluator: Evaluator) -> Game | None:
    """Return the game with the komi that makes it even for the evaluator, None if it is decided."""
    if not evaluator.attributes.has_score:
        return game
    positions, out = PositionBatch(1, game.width, game.height), Evaluation(1, game.width, game.height)
    write_position(game, game.to_play, positions, 0)
    evaluator.evaluate(positions, 1, out)
    lead = black_value(float(out.score[0]), game.to_play)
    if abs(lead) > _DECIDED * game.width * game.height:
        return None
    # With half a point there is no draw.
    game.set_komi(math.floor(game.komi + lead) + 0.5)
    return game
