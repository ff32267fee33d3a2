"""Groups: chains that belong together, and how safe they are by the ownership of their points."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from engine.board.tactics import breathes_after
from engine.color import for_color, opponent
from engine.explain.stones import Stones
from engine.vertex import policy_index

SAFE, DEAD = 0.9, 0.1
"""Survival from which on a group counts as safe, and up to which as dead."""


@dataclass(frozen=True)
class Group:
    """Chains of one color that cannot be cut apart by one move. liberties: their number, of all chains together.

    survival: probability, in [0, 1], that the points of its stones are its owner's in the end, averaged over them; None
    if the ownership is not known.
    """

    color: int
    stones: tuple[int, ...]
    chains: int
    liberties: int
    survival: float | None

    @property
    def status(self) -> str | None:
        """The word "safe", "unsettled" or "dead", by the survival; None if that is not known."""
        if self.survival is None:
            return None
        return "safe" if self.survival >= SAFE else "dead" if self.survival <= DEAD else "unsettled"


def survival(stones: Sequence[int], color: int, ownership: Sequence[float], size: tuple[int, int]) -> float:
    """Return the probability that points will be a color's, averaged. ownership: [area], 1 Black's, -1 White's."""
    owned = sum(for_color(ownership[policy_index(stone, *size)], color) for stone in stones) / len(stones)
    return (1 + owned) / 2


def groups_of(position: Stones, ownership: Sequence[float] | None) -> list[Group]:
    """Return the groups of a position, those with the most stones first.

    Two chains are one group if they share two liberties, or one at which an enemy stone would be in atari.
    """
    chains = position.chains()
    liberties = [position.liberties(chain) for chain in chains]
    parent = list(range(len(chains)))

    def root(place: int) -> int:
        while parent[place] != place:
            place = parent[place]
        return place

    for one, other in combinations(range(len(chains)), 2):
        color = position.color(chains[one][0])
        if color != position.color(chains[other][0]):
            continue
        shared = liberties[one] & liberties[other]
        if len(shared) > 1 or any(not breathes_after(position.board, each, opponent(color)) for each in shared):
            parent[root(other)] = root(one)
    members: dict[int, list[int]] = {}
    for place in range(len(chains)):
        members.setdefault(root(place), []).append(place)
    size = position.width, position.height
    found = []
    for places in members.values():
        stones = tuple(sorted(stone for place in places for stone in chains[place]))
        color = position.color(stones[0])
        count = len(set[int]().union(*(liberties[place] for place in places)))
        lives = None if ownership is None else survival(stones, color, ownership, size)
        found.append(Group(color, stones, len(places), count, lives))
    return sorted(found, key=lambda group: -len(group.stones))
