"""Tables and subtrees by Python's own sets and dictionaries: the oracle for the kernels of `engine.search`."""

from engine.board.layout import HEAD, HEADER, KO_POINT, LIBERTIES, Board
from engine.color import EMPTY
from engine.game import Game
from engine.search.tree import NO_LINK, NO_NODE, ROOT, Tree
from engine.symmetry import TRANSPOSE, map_vertex
from engine.vertex import point_at, points, row_column
from tests.oracle.naive_random import mixed


def children_of(tree: Tree, node: int) -> list[int]:
    """Return a node's children in the order of its links."""
    found, link = [], int(tree.nodes[node]["first_link"])
    while link != NO_LINK:
        found.append(int(tree.links[link]["child"]))
        link = int(tree.links[link]["next"])
    return found


def subtree(tree: Tree, root: int, least_visits: int) -> set[int]:
    """Return the nodes under a root, but not below nodes of fewer visits."""
    found, waiting = {root}, [root]
    while waiting:
        node = waiting.pop()
        if tree.nodes[node]["visits"] >= least_visits:
            new = set(children_of(tree, node)) - found
            found |= new
            waiting += new
    return found


def marks_of(tree: Tree, root: int, least_visits: int) -> list[int]:
    """Return ROOT for each node of that subtree and NO_NODE for every other."""
    kept = subtree(tree, root, least_visits)
    return [ROOT if node in kept else NO_NODE for node in range(int(tree.counters[0]))]


def shape(game: Game, vertex: int, symmetry: int) -> tuple[int, list[list[str]]]:
    """Return where a move is on the turned board, and the 9x9 points around it there: colors, and a mark in atari."""
    turned = {map_vertex(each, symmetry, game.width, game.height): each for each in points(game.width, game.height)}
    sides = (game.height, game.width) if symmetry & TRANSPOSE else (game.width, game.height)
    at = map_vertex(vertex, symmetry, game.width, game.height)
    row, column = row_column(at, sides[0])
    seen = []
    for y in range(row - 4, row + 5):
        line = []
        for x in range(column - 4, column + 5):
            inside = 0 <= y < sides[1] and 0 <= x < sides[0]
            line.append(_content(game, turned[point_at(y, x, sides[0])]) if inside else "outside")
        seen.append(line)
    return at, seen


def _content(game: Game, point: int) -> str:
    if game.color_at(point) == EMPTY:
        return "empty"
    liberties = game.board[LIBERTIES, game.board[HEAD, point]]
    return f"{game.color_at(point)}{' in atari' if liberties == 1 else ''}"


def stored(key: int) -> int:
    """Return a key as a set of keys holds it: 0 marks a free place there."""
    return key or 1


def decoded_prior(code: int) -> float:
    """Return the probability whose root is this many 65535ths."""
    return (code / 65535) ** 2


def node_key(stones: int, board: Board, to_play: int, chain: int, number: int) -> int:
    """Return the key of a position after `number` moves. stones: its hash."""
    parts = (4 * number + to_play, stones, int(board[HEADER, KO_POINT]) + 1)
    key = chain
    for part in parts:
        key = mixed(key, part)
    return key


class BiasTable:
    """Entries of the bias table by key, in the order of their making; full at three quarters."""

    def __init__(self, places: int) -> None:
        self.places = places
        self.slots: dict[int, int] = {}

    def bias_slot(self, key: int) -> int | None:
        """Return the entry of a key, the first free place from the key's own on if it is new; None if full."""
        if key not in self.slots:
            if len(self.slots) >= 0.75 * self.places:
                return None
            place = key // 2 % self.places
            while place in self.slots.values():
                place = (place + 1) % self.places
            self.slots[key] = place
        return self.slots[key]
