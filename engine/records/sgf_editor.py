"""Adds comments and variations to an SGF record, and keeps everything else as the record has it."""

from collections.abc import Sequence

from sgfmill import sgf_grammar

from engine.color import color_letter
from engine.errors import BadSgf
from engine.game import Move
from engine.records.sgf import Record
from engine.records.sgf_source import read_nodes, read_tree
from engine.vertex import format_sgf

_Node = dict[str, list[bytes]]
_MOVES = {"B", "W"}
_SETUP = ("AB", "AW", "AE")


class RecordEditor:
    """The first game of an SGF file, to which comments and variations are added.

    Markup, setup stones between moves, variations and properties that Keima does not know are kept. Of a tree that is
    not valid SGF only the main line is kept.
    """

    def __init__(self, data: bytes, record: Record) -> None:
        """data: the bytes that `record` was read from. Raises BadSgf."""
        self._width = record.width
        # Each node of the main line, with the trees that begin beside it.
        self._nodes: list[tuple[_Node, list[sgf_grammar.Coarse_game_tree]]] = []
        try:
            self._read(read_tree(data, record.name))
        except BadSgf:
            self._nodes = []
        if self._count() != len(record.moves):
            self._nodes = [(node, []) for node in read_nodes(data, record.name)[0]]
        self._nodes = [part for node, beside in self._nodes for part in _split(node, beside)]

    def _read(self, tree: sgf_grammar.Coarse_game_tree) -> None:
        beside: list[sgf_grammar.Coarse_game_tree] = []
        while True:
            self._nodes += [(node, [] if place else beside) for place, node in enumerate(tree.sequence)]
            if not tree.children:
                return
            tree, *beside = tree.children

    def _count(self) -> int:
        return sum(len(node.keys() & _MOVES) for node, _ in self._nodes)

    def _place(self, number: int) -> int:
        """Return the index of the node that has move `number`, from 1. Raises BadSgf if there is none."""
        played = 0
        for place, (node, _) in enumerate(self._nodes):
            played += len(node.keys() & _MOVES)
            if played >= number:
                return place
        raise BadSgf(f"there is no move {number}")

    def comment(self, number: int, text: str) -> None:
        """Add a text to the comment at move `number`, from 1."""
        node, _ = self._nodes[self._place(number)]
        old = [sgf_grammar.text_value(value).decode("utf-8", "replace").strip() for value in node.get("C", [])[:1]]
        node["C"] = [_encode("\n\n".join(filter(None, [*old, text])))]

    def add_variation(self, number: int, moves: Sequence[Move], comment: str) -> None:
        """Add a variation that begins instead of move `number`, with a comment at its first move."""
        place = self._place(number)
        if place == 0:
            # Nothing stands beside a root: its move gets a node of its own, with the comment, which is about the move.
            root, _ = self._nodes[0]
            move = {key: root.pop(key) for key in [*root] if key in _MOVES or key == "C"}
            self._nodes.insert(1, (move, []))
            place = 1
        node, beside = self._nodes[place]
        played = [{color_letter(move.color): [format_sgf(move.vertex, self._width).encode("ascii")]} for move in moves]
        played[0]["C"] = [_encode(comment)]
        # Stones that are set up in the move's own node belong to the variation, too.
        setup = {key: node[key] for key in _SETUP if key in node}
        tree = sgf_grammar.Coarse_game_tree()
        tree.sequence = [setup, *played] if setup else played
        beside.append(tree)

    def text(self) -> str:
        """Return the record as SGF text in UTF-8."""
        root = sgf_grammar.Coarse_game_tree()
        tree = root
        for place, (node, beside) in enumerate(self._nodes):
            if place and beside:
                main = sgf_grammar.Coarse_game_tree()
                tree.children = [main, *beside]
                tree = main
            tree.sequence.append(node)
        root.sequence[0]["CA"] = [b"UTF-8"]
        text: bytes = sgf_grammar.serialise_game_tree(root)
        return text.decode("utf-8", "replace")


def _split(
    node: _Node, beside: list[sgf_grammar.Coarse_game_tree]
) -> list[tuple[_Node, list[sgf_grammar.Coarse_game_tree]]]:
    """Return a node for each move of one; the comment goes to the last, everything else stays with the first.

    A node with moves of both colors is written in the order of the alphabet, whichever was played first.
    """
    others = [key for key in node if key in _MOVES][1:]
    if not others:
        return [(node, beside)]
    own = {key: value for key, value in node.items() if key not in (*others, "C")}
    following: list[_Node] = [{other: node[other]} for other in others]
    if "C" in node:
        following[-1]["C"] = node["C"]
    return [(own, beside), *((each, []) for each in following)]


def _encode(text: str) -> bytes:
    escaped: bytes = sgf_grammar.escape_text(text.encode("utf-8", "replace"))
    return escaped
