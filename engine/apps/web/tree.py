"""A game with its variations as a tree, and the position shown in it."""

from collections.abc import Iterator, Sequence

from engine.apps.web.snapshot import Count, Estimate, Variation
from engine.color import BLACK
from engine.errors import IllegalMove
from engine.game import Game, Move


class Node:
    """A position: the move that leads to it, and what is known of it.

    number: of moves before the position. note: the record's comment. symbols, labels, others: as in `Markup`.
    result: where a game ended here. count: with the dead stones that the players marked.
    left_at: at the end of a line, the number of the position that was shown last, 0 if none was.
    """

    def __init__(self, move: Move | None = None, parent: "Node | None" = None) -> None:
        self.move = move
        self.parent = parent
        self.children: list[Node] = []
        self.number: int = 0 if parent is None else parent.number + 1
        self.note = ""
        self.symbols: dict[int, str] = {}
        self.labels: dict[int, str] = {}
        self.others: dict[str, Sequence[bytes]] = {}
        self.estimate: Estimate | None = None
        self.is_reviewed = False
        self.result: str | None = None
        self.count: Count | None = None
        self.left_at = 0

    def child(self, move: Move) -> "Node | None":
        """Return the position after a move, None if it is not in the tree."""
        return next((each for each in self.children if each.move == move), None)

    def add(self, move: Move) -> "Node":
        """Return the position after a move, and append it if it is new."""
        found = self.child(move)
        if found is None:
            found = Node(move, self)
            self.children.append(found)
        return found

    def path(self) -> list["Node"]:
        """Return the positions from the start to this one."""
        nodes: list[Node] = []
        node: Node | None = self
        while node is not None:
            nodes.append(node)
            node = node.parent
        return nodes[::-1]

    @property
    def last(self) -> "Node":
        """The end of the line that follows the first move at each position."""
        node = self
        while node.children:
            node = node.children[0]
        return node


class GameTree:
    """The tree, one line of it, and the position shown in this line.

    game: at the position shown. end: of the line shown; moves of other lines may follow it. game_end: of the game
    itself; all other lines are variations.
    """

    def __init__(self, game: Game) -> None:
        """game: its moves are the game itself, shown at its end."""
        self.game = game
        self.root = Node()
        self.shown = self.root
        for move in game.moves:
            self.shown = self.shown.add(move)
        self.end = self.game_end = self.shown

    @property
    def moves(self) -> list[Move]:
        """The moves of the line shown."""
        return [node.move for node in self.end.path() if node.move is not None]

    @property
    def is_review(self) -> bool:
        """True if the position shown is not the last one of its line, or the game has its result."""
        return self.shown is not self.end or self.end.result is not None

    @property
    def unreviewed(self) -> list[int]:
        """The positions of the line that have not been reviewed, by the number of moves before them."""
        return [node.number for node in self.end.path() if not node.is_reviewed]

    def go_to(self, number: int) -> None:
        """Show the position after `number` moves, limited to the moves of the line."""
        line = self.end.path()
        self._walk(line[min(max(number, 0), len(line) - 1)])

    def at(self, number: int) -> Game:
        """Return a copy of the game after `number` moves of the line."""
        return self.at_node(self.end.path()[number])

    def at_node(self, node: Node) -> Game:
        """Return a copy of the game at a position of the tree."""
        game = self.game.copy()
        _play_to(game, node)
        return game

    def play(self, vertex: int) -> bool:
        """Play a move for the side to move at the position shown; return whether it was new. Raises IllegalMove.

        At the end of the line it continues the line. Elsewhere it goes to the position if the tree has it, else it
        starts a variation.
        """
        move = Move(self.game.to_play, vertex)
        known = self.shown.child(move)
        if self.game.is_over and known is None:
            raise IllegalMove("the game is over: take moves back, or begin a new one")
        continues, is_on_line = not self.is_review, known is not None and known in self.end.path()
        self.game.play(move.color, vertex, lenient=known is not None)
        node = self.shown.add(move)
        if continues:
            if self.end is self.game_end:
                self.game_end = node
            self.end = node
        elif not is_on_line:
            self._leave()
            self.end = node.last
        self.shown = node
        return known is None or continues

    def take_back(self) -> Move:
        """Take back the last move of the line and show the position before it. Raises IllegalMove if there is none."""
        undone = self.end
        if undone.move is None or undone.parent is None:
            raise IllegalMove("there is no move to take back")
        self._walk(undone.parent)
        if undone is self.game_end:
            self.game_end = undone.parent
        self.end = undone.parent
        undone.result = undone.count = None
        if not undone.children:
            undone.parent.children.remove(undone)
        return undone.move

    def show_line(self, index: int, number: int | None = None) -> None:
        """Show a line of `ends` after `number` moves; None: where it was left, but not before its first own move."""
        end = self.ends()[index]
        own = self.variations()[index].branch_point + 1
        self._leave()
        self.end = end
        self.go_to(max(end.left_at, own if index else 0) if number is None else number)

    def ends(self) -> list[Node]:
        """Return the last positions of all lines: first of the game itself, then of its variations."""
        leaves = [node for node in self._nodes() if not node.children or node is self.end]
        return [self.game_end, *(node for node in leaves if node is not self.game_end)]

    @property
    def index(self) -> int:
        """The index of the line shown in `ends`."""
        return self.ends().index(self.end)

    def variations(self) -> tuple[Variation, ...]:
        """Return all lines, each with the line that it leaves and the moves that only it has."""
        owner: dict[Node, int] = {}
        found = []
        for index, end in enumerate(self.ends()):
            own: list[Node] = []
            node = end
            while node.parent is not None and node not in owner:
                own.append(node)
                node = node.parent
            own.reverse()
            colors = "".join(_letter(each) for each in own)
            found.append(Variation(node.number, own[0].move if own else None, owner.get(node, 0), colors))
            owner |= dict.fromkeys(own, index)
        return tuple(found)

    def _leave(self) -> None:
        self.end.left_at = self.shown.number

    def _walk(self, node: Node) -> None:
        _play_to(self.game, node)
        self.shown = node

    def _nodes(self) -> Iterator[Node]:
        """Yield all positions, each line before the variations that leave it later in the list of children."""
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed(node.children)


def _play_to(game: Game, node: Node) -> None:
    """Undo and play moves until the game is at a position of its tree."""
    moves = [each.move for each in node.path() if each.move is not None]
    shared = 0
    while shared < min(len(moves), game.move_number) and game.moves[shared] == moves[shared]:
        shared += 1
    while game.move_number > shared:
        game.undo()
    for color, vertex in moves[shared:]:
        game.play(color, vertex, lenient=True)


def _letter(node: Node) -> str:
    """Return the color of a move; capital if the position has a comment or markup."""
    assert node.move is not None
    letter = "b" if node.move.color == BLACK else "w"
    return letter.upper() if node.note or node.symbols or node.labels else letter
