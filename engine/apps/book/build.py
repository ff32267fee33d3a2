"""Builds a book: expands the cheapest moves, many at a time, each by a search of the position after it.

A step chooses expansions by everything that earlier steps found, and by nothing else; so a run that was killed goes on
to the book of a run that was not. A line of the store is a searched position; the line of a step, which is written
last, has its edges.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from engine.apps.book.graph import Candidate, Edge, Graph, Searched
from engine.book.file import About, write
from engine.book.positions import Place, inverse, place_of
from engine.color import BLACK
from engine.errors import GoError
from engine.evaluation.evaluator import Evaluator
from engine.game import Game
from engine.players.moves import safe_vertices
from engine.rules import Rules
from engine.search.move_choice import choose_vertex
from engine.search.params import SearchParams
from engine.search.position import Root
from engine.search.root import root_priors
from engine.search.side_by_side import Extent, search_all
from engine.search.tree import ROOT, Tree, links_of
from engine.support.run_folder import RunFolder
from engine.symmetry import map_vertex
from engine.vertex import from_policy_index

FORMAT = {"format": "keima-book-run", "version": 1}
SECONDS_PER_HOUR = 3600.0


@dataclass(frozen=True)
class BookSettings:
    """What a book is built from. visits: of each search. at_once: expansions of a step. search: changed parameters."""

    width: int
    height: int
    rules: Rules
    komi: float
    visits: int
    network: str
    at_once: int = 64
    seed: int = 1
    search: tuple[tuple[str, str], ...] = ()

    def game(self) -> Game:
        """Return the empty board."""
        return Game(self.width, self.height, rules=self.rules, komi=self.komi)

    def to_json(self) -> dict[str, Any]:
        """Return what must not change when a run continues."""
        return FORMAT | {
            "size": [self.width, self.height],
            "rules": self.rules.to_json(),
            "komi": self.komi,
            "visits": self.visits,
            "network": self.network,
            "at_once": self.at_once,
            "seed": self.seed,
            "search": dict(self.search),
        }


class _Position(NamedTuple):
    """A position by the moves that first led to it, on the board as they were played."""

    moves: tuple[int, ...]
    place: Place
    is_black: bool


class Builder:
    """Builds one book. folder: of the run, which is continued if it has one; None stores nothing.

    seconds: that all searches took, those of earlier runs included. Raises GoError for a folder of another run.
    """

    def __init__(
        self, evaluator: Evaluator, params: SearchParams, asked: BookSettings, folder: Path | None = None
    ) -> None:
        self._evaluator, self._params, self._asked = evaluator, params, asked
        self._size, self._area = (asked.width, asked.height), asked.width * asked.height
        self.graph = Graph(self._area)
        self._positions: list[_Position] = []
        self._steps = 0
        self.seconds = self._stored = 0.0
        self._run = RunFolder(folder, asked.to_json())
        self._searched: dict[int, Searched] = {}
        for line in self._run.read(_parsed, "position or step of a book"):
            self.seconds += line.seconds
            if isinstance(line, _StepLine):
                self._finish(line.edges, folder)
            else:
                self._searched[line.position] = line.searched

    def __len__(self) -> int:
        return len(self.graph)

    def step(self, report: Callable[[int], None] = lambda done: None) -> bool:
        """Make a step and store it; return False, with nothing done, where nothing is left to expand.

        report: called with the number of searched positions after each search; may raise to end the run.
        """
        self._stored = time.monotonic()
        edges, games = self._chosen()
        if not games and not edges:
            return False
        first = len(self._positions)
        missing = [number for number in range(first, first + len(games)) if number not in self._searched]

        def end(place: int, tree: Tree, root: Root) -> None:
            number = missing[place]
            searched = self._result(tree, root, games[number - first][1].place)
            self._searched[number] = searched
            found = {"chosen": searched.chosen, "moves": [list(m) for m in searched.moves]}
            self._run.add({"position": number, **found, "seconds": self._lap()})
            report(first + len(self._searched))

        positions = [games[number - first][0] for number in missing]
        extent = Extent(self._asked.visits, seed=self._asked.seed)
        search_all(self._evaluator, positions, self._params, extent, safe_vertices, end)
        self._run.add({"step": self._steps, "seconds": self._lap(), "edges": [list(each) for each in edges]})
        self._add(edges, [position for _, position in games])
        return True

    def _lap(self) -> float:
        """Return the seconds since the last line of the run, and count them: a run may end after any line."""
        now = time.monotonic()
        seconds, self._stored = round(now - self._stored, 3), now
        self.seconds += seconds
        return seconds

    def _finish(self, edges: tuple[Edge, ...], folder: Path | None) -> None:
        """Add a step of an earlier run. Raises GoError where its lines do not fit together."""
        first = len(self._positions)
        games: list[_Position] = [] if edges or first else [self._root()[1]]
        for edge in edges:
            if not (0 <= edge.parent < first and 0 <= edge.move < self._area and 0 <= edge.child <= first + len(games)):
                raise GoError(f"{folder}: step {self._steps}: expected a move of one of {first} positions, got {edge}")
            if edge.child == first + len(games):
                games.append(self._after(edge.parent, edge.move)[1])
        missing = [number for number in range(first, first + len(games)) if number not in self._searched]
        if missing:
            raise GoError(f"{folder}: step {self._steps}: expected position {missing[0]} before it, got none")
        self._add(edges, games)

    def _add(self, edges: tuple[Edge, ...], positions: list[_Position]) -> None:
        first = len(self._positions)
        self._positions += positions
        new = [
            (each.place.key, len(each.moves), each.is_black, self._searched.pop(number))
            for number, each in enumerate(positions, start=first)
        ]
        self.graph.add(new, edges)
        self._searched.clear()
        self._steps += 1

    def _root(self) -> tuple[Game, _Position]:
        game = self._asked.game()
        place = place_of(game)
        assert place is not None
        return game, _Position((), place, game.to_play == BLACK)

    def _chosen(self) -> tuple[tuple[Edge, ...], list[tuple[Game, _Position]]]:
        """Return the edges of the next step, and the positions that are new in it, in the order of their numbers."""
        if not self._positions:
            return (), [self._root()]
        self.graph.settle()
        edges, games, new = [], list[tuple[Game, _Position]](), dict[tuple[int, int], int]()
        for parent, move in self.graph.cheapest(self._asked.at_once):
            game, position = self._after(parent, move)
            key = position.place.key, len(position.moves)
            number = self.graph.index.get(key, new.get(key))
            if number is None:
                number = new[key] = len(self._positions) + len(games)
                games.append((game, position))
            edges.append(Edge(parent, move, number))
        return tuple(edges), games

    def _after(self, parent: int, move: int) -> tuple[Game, _Position]:
        """Return the game after a book's move in a position, and the position."""
        before, game = self._positions[parent], self._asked.game()
        vertex = from_policy_index(move, *self._size)
        moves = (*before.moves, map_vertex(vertex, inverse(before.place.symmetry), *self._size))
        for each in moves:
            game.play(game.to_play, each)
        place = place_of(game)
        assert place is not None  # no pass is ever expanded
        return game, _Position(moves, place, game.to_play == BLACK)

    def _result(self, tree: Tree, root: Root, place: Place) -> Searched:
        """Return the result of a search, on the book's board; moves that symmetry makes equal are one."""
        chosen = choose_vertex(tree, root, self._params, 0.0, np.random.default_rng(0))
        links, priors = tree.links[links_of(tree, ROOT)], root_priors(tree)
        nodes, merged = tree.nodes[links["child"]], dict[int, list[Candidate]]()
        for each, (link, node) in enumerate(zip(links, nodes, strict=True)):
            move = place.on_book(int(tree.edge_vertex[ROOT, each]), self._size)
            count = int(min(link["visits"], node["visits"]))
            if count > 0:
                found = Candidate(move, count, float(node["value"]), float(node["lead"]), float(priors[each]))
                merged.setdefault(move, []).append(found)
        best = place.on_book(chosen, self._size)
        moves = tuple(_merged(each) for _, each in sorted(merged.items()))
        return Searched(best, moves)

    def write(self, path: Path) -> None:
        """Write the book. Raises OSError."""
        asked = self._asked
        self.graph.settle()
        made = {"hours": round(self.seconds / SECONDS_PER_HOUR, 2), "searches": len(self), "search": dict(asked.search)}
        about = About(asked.width, asked.height, asked.rules, asked.komi, asked.visits, asked.network, made)
        write(path, about, self.graph.entries(asked.visits))


def _merged(moves: list[Candidate]) -> Candidate:
    """Return equal moves as one; rounded before it is used, so that a run that reads the file has the same values."""
    visits = sum(each.visits for each in moves)
    value, lead = (sum(each.visits * getattr(each, name) for each in moves) / visits for name in ("value", "lead"))
    return Candidate(
        moves[0].move, visits, round(value, 5), round(lead, 3), round(sum(each.prior for each in moves), 5)
    )


class _StepLine(NamedTuple):
    seconds: float
    edges: tuple[Edge, ...]


class _PositionLine(NamedTuple):
    seconds: float
    position: int
    searched: Searched


def _parsed(line: Any) -> _StepLine | _PositionLine:
    """Return what a line of the store has. Raises ValueError or TypeError."""
    try:
        if "step" in line:
            return _StepLine(float(line["seconds"]), tuple(Edge(*map(int, each)) for each in line["edges"]))
        moves = [Candidate(int(move), int(visits), *map(float, rest)) for move, visits, *rest in line["moves"]]
        # Earlier runs have the seconds of whole steps only.
        seconds = float(line.get("seconds", 0.0))
        return _PositionLine(seconds, int(line["position"]), Searched(int(line["chosen"]), tuple(moves)))
    except KeyError as error:
        raise ValueError(f"expected {error}") from None
