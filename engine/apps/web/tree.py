"""A game with its variations as a tree, and the position shown in it.

A step leads from one position to the next: a move, or stones that a record sets up between moves. A game cannot add
stones after a move, so the positions after such a step belong to a game of their own, which starts there.
"""

from collections.abc import Iterator, Mapping, Sequence

from engine.apps.web.snapshot import Count, Estimate, Variation
from engine.color import BLACK
from engine.errors import IllegalMove
from engine.game import Game, Move
from engine.records.setup import Setup, Step, set_up
from engine.vertex import points


class Node:
    """A position: the step that leads to it, and what is known of it.

    number: of steps before the position. start: the game of the position, where one starts. changed: colors of the
    points that a setup changed, by vertex, EMPTY where it removed a stone. note: the record's comment. symbols, labels,
    others: as in `Markup`. result: where a game ended here. count: with the dead stones that the players marked.
    review_seconds: of the longest search by a review, 0 before it and without an estimate. is_skipped: a review got no
    estimate. left_at: at the end of a line, the number of the position that was shown last, 0 if none was.
    """

    def __init__(self, step: Step | None = None, parent: "Node | None" = None) -> None:
        self.step = step
        self.parent = parent
        self.children: list[Node] = []
        self.number: int = 0 if parent is None else parent.number + 1
        self.start: Game | None = None
        self.changed: Mapping[int, int] = {}
        self.note = ""
        self.symbols: dict[int, str] = {}
        self.labels: dict[int, str] = {}
        self.others: dict[str, Sequence[bytes]] = {}
        self.estimate: Estimate | None = None
        self.review_seconds = 0.0
        self.is_skipped = False
        self.result: str | None = None
        self.count: Count | None = None
        self.left_at = 0

    @property
    def move(self) -> Move | None:
        """The move that leads to the position; None at the start and after a setup."""
        return self.step if isinstance(self.step, Move) else None

    def child(self, step: Step) -> "Node | None":
        """Return the position after a step, None if it is not in the tree."""
        return next((each for each in self.children if each.step == step), None)

    def add(self, step: Step) -> "Node":
        """Return the position after a step, and append it if it is new."""
        found = self.child(step)
        if found is None:
            found = Node(step, self)
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
    def base(self) -> "Node":
        """The position where the game of this one starts: the last setup before it, else the root."""
        node = self
        while node.start is None and node.parent is not None:
            node = node.parent
        return node

    @property
    def last(self) -> "Node":
        """The end of the line that follows the first step at each position."""
        node = self
        while node.children:
            node = node.children[0]
        return node


class GameTree:
    """The tree, one line of it, and the position shown in this line.

    game: at the position shown. end: of the line shown; steps of other lines may follow it. game_end: of the game
    itself; all other lines are variations.
    """

    def __init__(self, start: Game, steps: Sequence[Step] = ()) -> None:
        """start: the game before its first move. steps: the game itself, shown at its end. Raises IllegalMove."""
        self.game = start.copy()
        self.root = Node()
        self.root.start = start
        self.shown = self.end = self.game_end = self.root
        self.game_end = self.add_line(steps)

    @property
    def steps(self) -> list[Step]:
        """The steps of the line shown."""
        return [node.step for node in self.end.path() if node.step is not None]

    @property
    def is_review(self) -> bool:
        """True if the position shown is not the last one of its line, or the game has its result."""
        return self.shown is not self.end or self.end.result is not None

    def unreviewed(self, seconds: float) -> list[int]:
        """Return the positions of the line that a review has searched for less than `seconds`, without skipped ones."""
        return [node.number for node in self.end.path() if node.review_seconds < seconds and not node.is_skipped]

    def retry_skipped(self) -> None:
        """Let a review search the positions again of which it got no estimate."""
        for node in self._nodes():
            node.is_skipped = False

    def go_to(self, number: int) -> None:
        """Show the position after `number` steps, limited to the steps of the line."""
        line = self.end.path()
        self._walk(line[min(max(number, 0), len(line) - 1)])

    def at(self, number: int) -> Game:
        """Return a copy of the game after `number` steps of the line."""
        return self.at_node(self.end.path()[number])

    def at_node(self, node: Node) -> Game:
        """Return a copy of the game at a position of the tree."""
        return _brought(self.game.copy(), self.shown, node)

    def add_line(self, steps: Sequence[Step]) -> Node:
        """Append a line of play, show its end and return it. Raises IllegalMove without having added anything."""
        node = self.root
        while node.number < len(steps) and (known := node.child(steps[node.number])) is not None:
            node = known
        self._walk(node)
        old_children = len(node.children)
        try:
            for number, step in enumerate(steps[node.number :], node.number + 1):
                if isinstance(step, Move):
                    self.game.play(step.color, step.vertex, lenient=True)
                    self.shown = self.shown.add(step)
                else:
                    following = (each.color for each in steps[number:] if isinstance(each, Move))
                    self._set_up(step, next(following, None))
        except IllegalMove:
            del node.children[old_children:]
            self._walk(node)
            raise
        self.end = self.shown
        return self.end

    def _set_up(self, setup: Setup, next_color: int | None) -> None:
        before, self.game = self.game, set_up(self.game, setup, next_color)
        self.shown = self.shown.add(setup)
        if self.game is not before:
            self.shown.start = self.game.copy()
            places = points(before.width, before.height)
            now = {vertex: self.game.color_at(vertex) for vertex in places}
            self.shown.changed = {vertex: now[vertex] for vertex in places if now[vertex] != before.color_at(vertex)}

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

    def take_back(self) -> Step:
        """Take back the last step of the line and show the position before it. Raises IllegalMove if there is none."""
        undone = self.end
        if undone.step is None or undone.parent is None:
            raise IllegalMove("there is no move to take back")
        self._walk(undone.parent)
        if undone is self.game_end:
            self.game_end = undone.parent
        self.end = undone.parent
        undone.result = undone.count = None
        if not undone.children:
            undone.parent.children.remove(undone)
        return undone.step

    def show_line(self, index: int, number: int | None = None) -> None:
        """Show a line of `ends` after `number` steps; None: where it was left, but not before its first own step."""
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
        """Return all lines, each with the line that it leaves and the steps that only it has."""
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
        self.game = _brought(self.game, self.shown, node)
        self.shown = node

    def _nodes(self) -> Iterator[Node]:
        """Yield all positions, each line before the variations that leave it later in the list of children."""
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed(node.children)


def _brought(game: Game, at: Node, to: Node) -> Game:
    """Return the game at a position of its tree: the given one, which changes, or a copy of the one that starts there.

    at: the position of the given game.
    """
    base = to.base
    if base is not at.base:
        assert base.start is not None
        game = base.start.copy()
    moves = [each.move for each in to.path()[base.number + 1 :] if each.move is not None]
    shared = 0
    while shared < min(len(moves), game.move_number) and game.moves[shared] == moves[shared]:
        shared += 1
    while game.move_number > shared:
        game.undo()
    for color, vertex in moves[shared:]:
        game.play(color, vertex, lenient=True)
    return game


def _letter(node: Node) -> str:
    """Return "b" or "w" after a move, "s" after a setup; capital if the position has a comment or markup."""
    letter = "s" if node.move is None else "b" if node.move.color == BLACK else "w"
    return letter.upper() if node.note or node.symbols or node.labels else letter
