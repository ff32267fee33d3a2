"""Divides the games of a folder into those to learn from and those to test on."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine.errors import BadSgf, GoError
from engine.records.sgf import load_sgf
from engine.records.sgf_source import iterate_records
from engine.train.data.held_out import game_hash, is_held_out, move_text
from engine.train.data.records import Source, profile_of

TEST_EVERY = 10
"""One game of this many is for testing: which ones, their moves decide."""
LEAST_TRAINING, LEAST_TESTING = 20, 3


@dataclass
class DividedGames:
    """Games by their use; records with the same moves count once. unreadable: messages, of one line each.

    repeated: records left out because another has the same moves, or because they have none. unranked: those left out
    because they do not have the players' ranks.
    """

    training: list[Source] = field(default_factory=list)
    testing: list[Source] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    repeated: int = 0
    unranked: int = 0

    @property
    def fingerprint(self) -> str:
        """Hash of all the games, whatever their order."""
        keys = sorted(game_hash(data) for _, data in (*self.training, *self.testing))
        return hashlib.sha256(b"".join(key.to_bytes(8, "big") for key in keys)).hexdigest()


def divided_games(
    sources: Sequence[Path], *, ranked: bool = False, report: Callable[[int], None] = lambda count: None
) -> DividedGames:
    """Read the records of files, folders and archives; `ranked` takes only those with the players' ranks.

    report: called for each record, with the number of different games so far; what it raises ends the reading.
    Raises GoError if there are too few games to learn from.
    """
    found, known = DividedGames(), set[int]()
    for name, data in iterate_records(sources, broken=lambda error: found.unreadable.append(str(error))):
        report(len(known))
        try:
            record = load_sgf(data, name=name)
        except BadSgf as error:
            found.unreadable.append(str(error))
            continue
        key = game_hash(data)
        if not move_text(data) or key in known:
            found.repeated += 1
            continue
        known.add(key)
        if ranked and profile_of(record) is None:
            found.unranked += 1
            continue
        # Games that are held out of all training are never learned from, so a few more than one of TEST_EVERY are here.
        is_test = is_held_out(data) or key % TEST_EVERY == 0
        (found.testing if is_test else found.training).append((name, data))
    if len(found.training) < LEAST_TRAINING or len(found.testing) < LEAST_TESTING:
        left_out = {
            "without the players' ranks (BR, WR)": found.unranked,
            "repeated or without moves": found.repeated,
            "unreadable": len(found.unreadable),
        }
        without = "".join(f", {count} {why}" for why, count in left_out.items() if count)
        raise GoError(
            f"{' '.join(map(str, sources))}: {len(found.training)} games to learn from and {len(found.testing)} "
            f"to test on{without}; at least {LEAST_TRAINING} and {LEAST_TESTING} are needed (one of {TEST_EVERY} is "
            "for testing)"
        )
    return found
