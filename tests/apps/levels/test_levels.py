"""`keima levels`: games between ranks and programs, runs that continue, and the table."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from engine.apps.levels.games import GNUGO, KATAGO, Mover, Players, Result, play_game
from engine.apps.levels.measure import ANCHOR, Measurement, measure, ratings, steps
from engine.apps.levels.report import levels_table
from engine.encoders.human import human_metadata
from engine.errors import GoError
from engine.evaluators.factory import Opened
from engine.evaluators.raw import NetworkFacts, RawNetwork
from engine.game import Game
from engine.search.params import SearchParams
from engine.settings.levels import LEVELS, ranks_between
from engine.support.run_kinds import LEVELS as LEVELS_RUN
from engine.support.tables import print_tables
from engine.vertex import PASS
from keima import main
from tests.search.fakes import FakeEvaluator
from tests.search.test_human import HumanEvaluator

PROGRAM = """
import sys
for line in sys.stdin:
    command = line.split()[0]
    print(line, end="", file=open(sys.argv[1], "a"), flush=True)
    print("= pass\\n" if command == "genmove" else "=\\n", flush=True)
    if command == "quit":
        break
"""
NEVER = lambda: False  # noqa: E731
ALL = frozenset({"gnugo", "katago"})


class Quitter:
    """Passes a given number of times, then resigns."""

    def __init__(self, patience: int) -> None:
        self._patience = patience

    def genmove(self, game: Game, color: int) -> int | None:
        """Pass or resign."""
        self._patience -= 1
        return None if self._patience < 0 else PASS

    def played(self, game: Game, color: int, vertex: int) -> None:
        """Do nothing."""


class Quitters(Players):
    """Players of whom those with the larger name resign first."""

    def __init__(self) -> None:
        super().__init__(Opened(FakeEvaluator(), None), SearchParams(), 9, {})
        self.games: list[tuple[str, str]] = []

    @contextmanager
    def movers(self, names: tuple[str, str]) -> Iterator[list[Mover]]:
        """Yield both sides."""
        self.games.append(names)
        yield [Quitter(int(name == min(names))) for name in names]


@pytest.fixture
def program(tmp_path: Path) -> str:
    """Return the command of a program that only passes, and writes what it is told to told.txt."""
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    return shlex.join([sys.executable, str(script), str(tmp_path / "told.txt")])


def test_points_are_those_of_the_first_player_whatever_its_color() -> None:
    players = Quitters()
    assert [play_game(players, "a", "b", number, NEVER) for number in (0, 1)] == [
        Result("a", "b", 0, 1.0, 1),
        Result("a", "b", 1, 1.0, 0),
    ]
    assert play_game(players, "b", "a", 1, NEVER) == Result("b", "a", 1, 0.0, 1)
    assert play_game(players, "a", "b", 0, lambda: True) is None


def test_a_rank_plays_a_program_and_the_board_is_counted(program: str) -> None:
    params = SearchParams(seed=1, allow_resignation=False)
    players = Players(Opened(FakeEvaluator(), None), params, 9, {GNUGO.name: program})
    result = play_game(players, "gnugo-1", "gnugo-4", 0, NEVER)
    assert result == Result("gnugo-1", "gnugo-4", 0, 0.0, 2)  # White has the komi
    rank = next(iter(LEVELS[9]))
    game = play_game(players, rank, "gnugo-1", 0, NEVER)
    assert game is not None
    assert game.points == 1.0
    assert game.moves > 4


@pytest.mark.parametrize(
    ("player", "strength"),
    [("gnugo-7", ["level 7"]), ("katago-32", ["kata-set-rules tromp-taylor", "kata-set-param maxVisits 32"])],
)
def test_a_program_is_told_how_strong_it_is_to_play(
    player: str, strength: list[str], program: str, tmp_path: Path
) -> None:
    players = Players(
        Opened(FakeEvaluator(), None), SearchParams(seed=1), 9, {GNUGO.name: program, KATAGO.name: program}
    )
    play_game(players, "1d", player, 1, NEVER)
    told = (tmp_path / "told.txt").read_text().splitlines()
    assert told[: told.index("genmove black")] == ["boardsize 9", "clear_board", *strength, "komi 7"]


def test_a_program_that_fails_is_named() -> None:
    program = shlex.join([sys.executable, "-c", "exit"])
    players = Players(Opened(FakeEvaluator(), None), SearchParams(), 9, {GNUGO.name: program})
    with pytest.raises(GoError, match="gnugo-1 against gnugo-4, game 0"):
        play_game(players, "gnugo-1", "gnugo-4", 0, NEVER)


def test_a_stopped_run_continues_with_the_games_that_are_missing(tmp_path: Path) -> None:
    asked, players = Measurement(9, 2, "net", ALL), Quitters()
    wanted = 2 * len(asked.pairings())
    *_, before = measure(asked, players, tmp_path, lambda: len(players.games) > 30)
    assert 0 < len(before) < wanted
    assert LEVELS_RUN.is_in(tmp_path)
    again = Quitters()
    *_, found = measure(asked, again, tmp_path, NEVER)
    assert len(found) == wanted == len({(each.first, each.second, each.number) for each in found})
    assert len(again.games) == wanted - len(before)
    third = Quitters()
    assert len([*measure(asked, third, tmp_path, NEVER)]) == 1
    assert third.games == []


def test_results_of_another_network_are_not_mixed_in(tmp_path: Path) -> None:
    assert [*measure(Measurement(9, 1, "net"), Quitters(), tmp_path, lambda: True)] == [[]]
    with pytest.raises(GoError, match="network was 'net' there"):
        next(measure(Measurement(9, 1, "other"), Quitters(), tmp_path, NEVER))


def test_ranks_with_a_human_network_imitate_their_people_and_are_a_run_of_their_own(tmp_path: Path) -> None:
    human = HumanEvaluator()
    facts = NetworkFacts("people.bin.gz", "people", 15, 15, "fp32", imitates=True)
    opened = Opened(FakeEvaluator(), None, RawNetwork(human, facts))
    play_game(Players(opened, SearchParams(seed=1), 9, {}), "8k", "3k", 0, lambda: human.calls > 5)
    profiles = {"rank_8k": 0, "rank_3k": 0}
    for profile in profiles:
        wanted = human_metadata(profile, 9, 9)
        profiles[profile] = sum(given is not None and np.array_equal(given, wanted) for given in human.metadata)
    assert profiles == {"rank_8k": 3, "rank_3k": 3}
    assert [*measure(Measurement(9, 1, "net"), Quitters(), tmp_path, lambda: True)] == [[]]
    with pytest.raises(GoError, match="human_network was None there and is 'people 123' now"):
        next(measure(Measurement(9, 1, "net", human="people 123"), Quitters(), tmp_path, NEVER))


@pytest.mark.parametrize("size", LEVELS)
def test_neighbors_meet_and_programs_meet_some(size: int) -> None:
    ranks = list(LEVELS[size])
    alone = Measurement(size, 1, "net").pairings()
    assert {(ranks[0], ranks[1]), (ranks[0], ranks[2])} <= {*alone}
    assert {name for pairing in alone for name in pairing} == {*ranks}
    with_programs = {*Measurement(size, 1, "net", ALL).pairings()} - {*alone}
    assert with_programs == {
        *((rank, f"gnugo-{level}") for rank in ("10k", "7k") for level in (1, 4, 7, 10)),
        *((rank, f"katago-{visits}") for rank in ("1d", "4d") for visits in (8, 32)),
    }


def test_a_range_of_ranks_plays_among_itself_and_adds_to_the_games_of_a_run(tmp_path: Path) -> None:
    some = Measurement(19, 3, "net", ALL, tuple(ranks_between("7k-5k", 19)))
    assert some.pairings() == [("7k", "6k"), ("6k", "5k"), ("7k", "5k"), *(("7k", f"gnugo-{n}") for n in (1, 4, 7, 10))]
    *_, found = measure(Measurement(19, 1, "net"), Quitters(), tmp_path, NEVER)
    *_, more = measure(some, Quitters(), tmp_path, NEVER)
    assert len(more) == len(found) + 3 * 2 + 4 * 3, "a game of each of the first three pairings was there"
    assert ranks_between("3k", 19) == ["3k"]


@pytest.mark.parametrize("text", ["1d-4k", "4k-9d", "4k-", "-", "4k-1d-2d", "full"])
def test_what_is_no_range_of_ranks_is_refused(text: str) -> None:
    answer = CliRunner().invoke(main, ["levels", "--measure", "--ranks", text])
    assert answer.exit_code != 0
    assert f"not a range of ranks: {text!r}; expected one such as 21k-6d" in answer.output


def test_a_single_rank_needs_a_program_to_meet() -> None:
    answer = CliRunner().invoke(main, ["levels", "--measure", "--ranks", "4k"])
    assert "--ranks 4k: a single rank meets nobody without --gnugo or --katago" in answer.output


def test_ratings_are_above_gnugo_at_level_10() -> None:
    results = [Result("8k", ANCHOR, number, float(number % 4 > 0), 50) for number in range(40)]
    found = ratings(results)
    assert found[ANCHOR].elo == 0
    assert 150 < found["8k"].elo < 200
    assert found["8k"].low < found["8k"].elo < found["8k"].high


def test_a_step_is_known_between_neighbors_that_met() -> None:
    games = [Result("20k", "21k", number, float(number % 3 > 0), 50) for number in range(30)]
    games += [Result("17k", "21k", number, float(number % 5 > 0), 50) for number in range(30)]
    found, above = ratings(games), steps(9, games)
    assert set(above) == {"20k"}, "17k is not the rank after 20k"
    assert above["20k"].elo == pytest.approx(found["20k"].elo - found["21k"].elo)
    assert above["20k"].low < above["20k"].elo < above["20k"].high
    assert steps(9, []) == {}


def test_games_that_do_not_link_all_players_give_no_ratings_and_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    games = [Result("20k", "21k", 0, 1.0, 50), Result("14k", "15k", 0, 1.0, 50)]
    assert ratings(games) == {}
    print_tables(sys.stdout, [levels_table(9, games)])
    shown = capsys.readouterr().out
    assert "the games do not link all" in shown.replace("\n", " ")
    assert steps(9, games).keys() == {"20k", "14k"}, "each above a rank that it met"
    assert steps(9, games)["20k"].elo > 0
    assert "Elo above" not in shown


def test_the_table_shows_every_rank_of_a_size() -> None:
    assert {9, 13, 19} <= LEVELS.keys()
    for size, ladder in LEVELS.items():
        answer = CliRunner().invoke(main, ["levels", "--size", str(size)])
        assert answer.exit_code == 0
        assert all(f" {rank} " in answer.output for rank in ladder)
    shown = CliRunner().invoke(main, ["levels", "--size", "11"]).output
    assert "9x9" in shown, "the nearest by points"
    assert "Elo" not in shown, "without games"
    measured = CliRunner().invoke(main, ["levels", "--measure", "--size", "11"]).output
    assert "11x11 has no ranks of its own" in measured
