"""The positions of `keima bench --quality` are chosen by rule, never from held-out games."""

from pathlib import Path

import pytest

from engine.apps.quality.positions import SHARES, default_records, key_of, positions_of
from engine.board.layout import COLOR
from engine.errors import GoError
from engine.evaluation.evaluator import Attributes
from engine.game import DEFAULT_KOMI
from engine.train.data.held_out import is_held_out
from tests.apps.quality.records import SIZE, file_of, random_records
from tests.search.fakes import FakeEvaluator, LeadEvaluator

SQUARE = (SIZE, SIZE)


def test_positions_are_the_same_in_every_run(tmp_path: Path) -> None:
    file = file_of(tmp_path, 12)
    first, again = (positions_of([file], SQUARE, 9, LeadEvaluator(0.0)) for _ in range(2))
    assert [each.key for each in first] == [each.key for each in again]
    assert len({each.key for each in first}) == 9


def test_fewer_positions_are_the_first_of_more(tmp_path: Path) -> None:
    file = file_of(tmp_path, 12)
    few, many = (positions_of([file], SQUARE, count, LeadEvaluator(0.0)) for count in (4, 9))
    assert [each.key for each in few] == [each.key for each in many[:4]]


def test_openings_fights_and_endgames_lie_in_their_part_of_the_game(tmp_path: Path) -> None:
    found = positions_of([file_of(tmp_path, 30)], SQUARE, 30, LeadEvaluator(0.0))
    assert {each.phase for each in found} == set(SHARES)
    for each in found:
        low, high = SHARES[each.phase]
        assert round(16 * low) <= each.game.move_number <= round(16 * high)


def test_no_position_is_from_a_held_out_game(tmp_path: Path) -> None:
    records = random_records(400, moves=8)
    held_out = [record for record in records if is_held_out(record)]
    assert held_out
    path = tmp_path / "held_out.sgfl"
    path.write_bytes(b"\n".join(held_out) + b"\n")
    assert positions_of([path], SQUARE, 10, LeadEvaluator(0.0)) == []


def test_boards_of_other_sizes_are_left_out(tmp_path: Path) -> None:
    assert positions_of([file_of(tmp_path, 5)], (9, 9), 10, LeadEvaluator(0.0)) == []


def test_the_komi_makes_the_position_even(tmp_path: Path) -> None:
    file = file_of(tmp_path, 12)
    even, ahead = (positions_of([file], SQUARE, 1, LeadEvaluator(lead))[0] for lead in (0.0, 2.0))
    assert (even.game.komi, ahead.game.komi) == (7.5, 9.5)
    assert (even.game.board[COLOR] == ahead.game.board[COLOR]).all()
    assert even.key != ahead.key


def test_decided_positions_are_left_out(tmp_path: Path) -> None:
    assert positions_of([file_of(tmp_path, 12)], SQUARE, 10, LeadEvaluator(4.0)) == []


def test_the_key_depends_on_moves_and_komi(tmp_path: Path) -> None:
    game = positions_of([file_of(tmp_path, 12)], SQUARE, 1, LeadEvaluator(0.0))[0].game
    keys = {key_of(game)}
    game.set_komi(3.5)
    keys.add(key_of(game))
    game.undo()
    keys.add(key_of(game))
    assert len(keys) == 3


def test_missing_records_are_an_error_that_names_the_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEIMA_SHARED", str(tmp_path))
    with pytest.raises(GoError, match="--records"):
        default_records()


def test_an_evaluator_without_scores_keeps_the_komi(tmp_path: Path) -> None:
    evaluator = FakeEvaluator()
    evaluator.attributes = Attributes("blind", preferred_batch=8, max_batch=8)
    assert positions_of([file_of(tmp_path, 12)], SQUARE, 1, evaluator)[0].game.komi == DEFAULT_KOMI
