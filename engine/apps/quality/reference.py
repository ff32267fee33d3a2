"""The reference of `keima bench --quality`: what a deep search says about a position and about its moves.

A sequential search of every position gives the reference's move. This move, and every other move that is to be judged,
is then searched alone, in the position after it and with as many visits, so that all values are equally deep. Values
are kept in a folder, by network and settings, and are never computed twice.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from engine.apps.quality.positions import Position
from engine.color import for_color
from engine.evaluation.evaluator import Evaluator
from engine.game import Game
from engine.players.moves import safe_vertices
from engine.scoring import final_score
from engine.search.move_choice import choose_vertex
from engine.search.params import SearchParams
from engine.search.side_by_side import Extent, search_all
from engine.search.tree import ROOT
from engine.support.json_text import json_text
from engine.support.run_folder import RunFolder
from engine.vertex import format_vertex, parse_vertex

_VERSION = 1
"""Of what is stored; a change of the search that changes values gets a new one."""
_SEED = 7_919
"""Of the reference's symmetries: another than that of the searches it judges, whose errors it must not share."""
_NOT_SEARCHED_BY = (
    *("batch_size", "visits_in_flight", "virtual_loss", "max_memory_mib", "stops_early", "seed", "judge_visits"),
    *("allow_resignation", "resign_threshold", "resign_turns", "resign_min_lead", "ponder_seconds", "ponder_visits"),
)
"""Parameters that change nothing in a sequential search of a fixed number of visits."""
_ADDED: tuple[str, ...] = ()
"""Parameters that stored values of earlier versions do not know: left out at their defaults, which search as before."""

Report = Callable[[], None]


class MoveValue(NamedTuple):
    """The value of a move for the side that plays it. winrate: in [0, 1]. lead: points."""

    winrate: float
    lead: float


class Found(NamedTuple):
    """What one search found: the value of a move, None where the move is the reference's own. key: of the position."""

    key: str
    move: str
    value: MoveValue | None


class Reference:
    """Values of moves by searches with `visits` visits.

    network: identifies the evaluator in the folder. out: the folder of all references, None stores nothing.
    found: what the searches of this object found so far, in order. Raises GoError if the stored file is damaged.
    """

    def __init__(
        self, evaluator: Evaluator, params: SearchParams, visits: int, network: str, out: Path | None = None
    ) -> None:
        self._evaluator, self._params, self.visits = evaluator, params, visits
        usual = asdict(SearchParams())
        left_out = {*_NOT_SEARCHED_BY, *(name for name in _ADDED if getattr(params, name) == usual[name])}
        searched = {name: value for name, value in asdict(params).items() if name not in left_out}
        settings = {"version": _VERSION, "network": network, "visits": visits, "seed": _SEED, "search": searched}
        digest = hashlib.sha256(json_text(settings).encode()).hexdigest()[:16]
        self._store = RunFolder(None if out is None else out / digest, settings)
        self._best = dict[str, str]()
        self._values = dict[str, dict[str, MoveValue]]()
        self.found = list[Found]()
        self.learn(self._store.read(_parsed, "value of a reference"))

    @property
    def searches(self) -> int:
        """The number of searches of this object so far."""
        return len(self.found)

    def learn(self, found: Iterable[Found]) -> None:
        """Take over values that are stored elsewhere."""
        for each in found:
            self._keep(each)

    def add_all(self, found: Iterable[Found]) -> None:
        """Take over, and store, what the searches of another process found."""
        for each in found:
            self._keep(each)
            self._write(each)

    def known(self) -> list[Found]:
        """Return everything known, from the folder or by searches."""
        best = [Found(key, move, None) for key, move in self._best.items()]
        return best + [Found(key, *each) for key, values in self._values.items() for each in values.items()]

    def judge(
        self, positions: Sequence[Position], chosen: Mapping[str, Collection[int]], report: Report = lambda: None
    ) -> None:
        """Compute the values that are missing: of the chosen moves, by the position's key, and of the reference's own.

        positions: on boards of one size. report: called after each search.
        """
        self._find_best([each for each in positions if each.key not in self._best], report)
        wanted = list[tuple[Position, int]]()
        for each in positions:
            moves = {*chosen[each.key], self.best(each)}
            known = self._values.get(each.key, {})
            wanted += [(each, vertex) for vertex in sorted(moves) if _text(each.game, vertex) not in known]
        self._value_moves(wanted, report)

    def missing(self, positions: Sequence[Position], moves: int) -> int:
        """Return the searches that `judge` would make if each position had this number of moves to judge."""
        roots = sum(each.key not in self._best for each in positions)
        return roots + sum(max(0, moves - len(self._values.get(each.key, {}))) for each in positions)

    def best(self, position: Position) -> int:
        """Return the reference's move."""
        game = position.game
        return parse_vertex(self._best[position.key], game.width, game.height)

    def value(self, position: Position, vertex: int) -> MoveValue:
        """Return the value of a judged move."""
        return self._values[position.key][_text(position.game, vertex)]

    def values(self, position: Position) -> dict[str, MoveValue]:
        """Return the values of all judged moves of a position."""
        return self._values[position.key]

    def _find_best(self, positions: Sequence[Position], report: Report) -> None:
        def end(place: int, tree: Any, root: Any) -> None:
            position = positions[place]
            vertex = choose_vertex(tree, root, self._params, 0.0, np.random.default_rng(0))
            self._add(position.key, _text(position.game, vertex), None)
            report()

        self._search([each.game for each in positions], end)

    def _value_moves(self, wanted: Sequence[tuple[Position, int]], report: Report) -> None:
        after = list[tuple[Position, int, Game]]()
        for position, vertex in wanted:
            game = position.game.copy()
            game.play(game.to_play, vertex)
            if game.is_over:
                self._add(position.key, _text(game, vertex), _counted(game, position.game.to_play))
                report()
            else:
                after.append((position, vertex, game))

        def end(place: int, tree: Any, root: Any) -> None:
            position, vertex, game = after[place]
            node, color = tree.nodes[ROOT], position.game.to_play
            winrate = (1 + for_color(float(node["value"]), color)) / 2
            self._add(position.key, _text(game, vertex), MoveValue(winrate, for_color(float(node["lead"]), color)))
            report()

        self._search([game for _, _, game in after], end)

    def _search(self, games: Sequence[Game], end: Callable[[int, Any, Any], None]) -> None:
        search_all(self._evaluator, games, self._params, Extent(self.visits, seed=_SEED), safe_vertices, end)

    def _add(self, key: str, move: str, value: MoveValue | None) -> None:
        # Rounded before it is used, so that a run that reads the file has the same results.
        value = None if value is None else MoveValue(round(value.winrate, 6), round(value.lead, 4))
        self.found.append(Found(key, move, value))
        self.add_all(self.found[-1:])

    def _keep(self, found: Found) -> None:
        if found.value is None:
            self._best[found.key] = found.move
        else:
            self._values.setdefault(found.key, {})[found.move] = found.value

    def _write(self, found: Found) -> None:
        figures = {} if found.value is None else found.value._asdict()
        self._store.add({"position": found.key, "best" if found.value is None else "move": found.move, **figures})


def _parsed(line: Any) -> Found:
    """Return what a stored line says. Raises ValueError."""
    if not isinstance(line, dict) or not isinstance(line.get("position"), str):
        raise ValueError("expected an object with a position")
    key, move = line["position"], line.get("best", line.get("move"))
    if not isinstance(move, str):
        raise ValueError("expected a move")
    if "best" in line:
        return Found(key, move, None)
    winrate, lead = line.get("winrate"), line.get("lead")
    if not (isinstance(winrate, int | float) and isinstance(lead, int | float) and 0.0 <= winrate <= 1.0):
        raise ValueError(f"expected a winrate from 0 to 1 and a lead, got {winrate!r} and {lead!r}")
    return Found(key, move, MoveValue(float(winrate), float(lead)))


def _text(game: Game, vertex: int) -> str:
    return format_vertex(vertex, game.width, game.height)


def _counted(game: Game, color: int) -> MoveValue:
    """Return the value of a game that two passes have ended."""
    lead = for_color(float(final_score(game)), color)
    return MoveValue(0.5 if lead == 0 else float(lead > 0), lead)
