"""The gate: who is promoted, when a match ends, and what is kept of it."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from engine.errors import GoError
from engine.train.generations.gate import DRAW, LOSS, WIN, Gate, GateSettings, gate, needs_match, read_gates, write_gate


@dataclass(frozen=True)
class Result:
    """A finished game."""

    number: int
    points: float


def results(scores: list[float]) -> Iterator[Result]:
    return (Result(number, score) for number, score in enumerate(scores))


def to_the_end(wins: int, games: int, threshold: float = 0.55) -> Gate:
    settings = GateSettings(games=games, threshold=threshold, margin=0)
    return gate(7, 5, results([WIN] * wins + [LOSS] * (games - wins)), settings)


@pytest.mark.parametrize(("wins", "promoted"), [(219, False), (220, True), (400, True), (0, False)])
def test_the_default_asks_for_55_percent_of_400_games(wins: int, promoted: bool) -> None:
    outcome = to_the_end(wins, GateSettings().games, GateSettings().threshold)
    assert (outcome.promoted, outcome.ended, outcome.games) == (promoted, "games", 400)


def test_262_of_480_is_the_alternative_and_significant() -> None:
    assert to_the_end(262, 480, 0.5458).promoted
    assert not to_the_end(261, 480, 0.5458).promoted

    def tail(wins: int) -> float:
        return sum(math.comb(480, count) for count in range(wins, 481)) / 2**480

    assert tail(262) < 0.025 < tail(261)


def test_draws_are_half_a_win() -> None:
    outcome = gate(1, 0, results([WIN, DRAW] * 5), GateSettings(games=10, threshold=0.75, margin=0))
    assert (outcome.wins, outcome.draws, outcome.losses, outcome.promoted) == (5, 5, 0, True)
    assert outcome.pairs == (0, 0, 0, 5, 0)


def test_a_clear_match_ends_before_its_last_game() -> None:
    games = results([WIN, WIN, WIN, LOSS] * 100)
    outcome = gate(1, 0, games, GateSettings())
    assert outcome.ended == "sprt"
    assert outcome.promoted
    assert 20 < outcome.games < 100
    assert next(games).number == outcome.games, "no game more was asked for"
    assert outcome.share.low < 0.75 < outcome.share.high


def test_a_weaker_candidate_is_refused_early() -> None:
    outcome = gate(1, 0, results([WIN, LOSS, LOSS, LOSS] * 100), GateSettings())
    assert (outcome.promoted, outcome.ended) == (False, "sprt")
    assert outcome.games < 100


def test_the_order_in_which_games_end_changes_nothing() -> None:
    scores = [WIN, WIN, LOSS, WIN] * 100
    # Eight games at a time: a game ends at most seven places before or after its turn.
    order = np.arange(400).reshape(-1, 8)[:, ::-1].ravel()
    shuffled = gate(1, 0, (Result(int(number), scores[number]) for number in order), GateSettings())
    straight = gate(1, 0, results(scores), GateSettings())
    assert shuffled == straight


def test_losing_quickly_and_winning_slowly_is_no_loss() -> None:
    slow_wins = sorted(range(400), key=lambda number: (number // 40, number % 4 != 0))
    games = (Result(number, LOSS if number % 4 == 0 else WIN) for number in slow_wins)
    assert gate(1, 0, games, GateSettings()).promoted


def test_a_match_that_breaks_off_decides_nothing() -> None:
    with pytest.raises(ValueError, match="ended after 10 of 400 games"):
        gate(1, 0, results([WIN, LOSS] * 5), GateSettings())


def test_without_games_and_before_the_first_gate_everyone_passes() -> None:
    assert [needs_match(3, settings) for settings in (GateSettings(games=0), GateSettings(first_generation=4))] == [
        False,
        False,
    ]
    assert needs_match(4, GateSettings(first_generation=4))


def test_every_gate_is_a_line_and_the_last_of_a_candidate_counts(tmp_path: Path) -> None:
    path = tmp_path / "gate.jsonl"
    write_gate(path, to_the_end(10, 40), seconds=3.5)
    write_gate(path, to_the_end(30, 40), seconds=4.5)
    (line,) = read_gates(path)
    assert (line["candidate"], line["best"], line["promoted"], line["seconds"]) == (7, 5, True, 4.5)
    assert line["share"] == pytest.approx([0.75, 0.598, 0.858], abs=1e-3)
    assert line["elo"][0] == pytest.approx(190.8, abs=0.1)


@pytest.mark.parametrize("line", ["{", "3", '{"candidate": 1}'])
def test_a_line_that_is_no_gate_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "gate.jsonl"
    write_gate(path, to_the_end(10, 40))
    with path.open("a") as file:
        file.write(line + "\n")
    with pytest.raises(GoError, match=r"gate\.jsonl:2: no gate: "):
        read_gates(path)


def test_the_score_is_one_line_for_people() -> None:
    assert str(to_the_end(30, 40)) == "against generation 5: +30 -10 =0, 75.0 % (59.8 to 85.8), llr +0.00"


def test_a_clean_sweep_has_a_line_without_infinities(tmp_path: Path) -> None:
    path = tmp_path / "gate.jsonl"
    write_gate(path, to_the_end(40, 40))
    assert "Infinity" not in path.read_text()
    assert read_gates(path)[0]["elo"][0] is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"games": 41}, "games: expected an even number"),
        ({"threshold": 1.2}, "threshold"),
        ({"margin": 0.5}, "margin"),
        ({"alpha": 0.7}, "alpha"),
        ({"visits": 0}, "visits"),
    ],
)
def test_settings_that_make_no_gate_are_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GateSettings(**settings)  # type: ignore[arg-type]
