"""A sample of real games is replayed without an illegal move; `python -m tests.replay` takes thousands."""

from pathlib import Path

import pytest

from tests.replay import Replayed, collections, replay
from tests.shared import require_shared

SAMPLE = 40


@pytest.mark.parametrize("path", collections(), ids=lambda path: path.name.split(".")[0])
def test_real_games_replay_without_an_illegal_move(path: Path) -> None:
    found = replay(path, SAMPLE)
    assert found.refused == []
    assert found.games == SAMPLE
    assert found.positions > 20 * SAMPLE


def test_collections_are_there() -> None:
    require_shared("games")
    assert len(collections()) >= 3


def test_an_illegal_move_is_noticed() -> None:
    result = Replayed()
    result.add(b"(;SZ[9];B[aa];W[aa])", "x")
    assert result.refused == ["x: move 2: W[aa]: illegal move A9: occupied"]
