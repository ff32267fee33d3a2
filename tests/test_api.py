"""The library that `import keima` offers: its page runs, and its figures speak for the side to move."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import keima
from engine import api

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "api.md"


@pytest.fixture(scope="module")
def network() -> Iterator[keima.Network]:
    """Load the default network."""
    with keima.load_network(threads=1) as network:
        yield network


class Script:
    """Plays given moves."""

    def __init__(self, name: str, *moves: str) -> None:
        self.name = name
        self._moves = iter(moves)

    def genmove(self, game: keima.Game) -> str:
        """Return the next move."""
        return next(self._moves)


class FirstLegal:
    """Plays the first legal move, which fills eyes and kills its own stones."""

    name = "first"

    def genmove(self, game: keima.Game) -> str:
        """Return the first move."""
        return game.legal_moves()[0]


def played(*moves: str, size: int | tuple[int, int] = 9, rules: str = "chinese", komi: float = 7.5) -> keima.Game:
    """Return a game with moves of alternating colors."""
    game = keima.Game(size, rules=rules, komi=komi)
    for move in moves:
        game.play(move)
    return game


BLACK_AHEAD = tuple(move for row in range(1, 10) for move in (f"E{row}", "A1" if row == 5 else "pass"))
"""Black, to play, has a wall through the middle; White has one stone."""
WHITE_AHEAD = ("pass", *BLACK_AHEAD)
"""The same with the colors exchanged."""


def test_the_page_is_short_and_its_code_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [code] = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    statements = [line for line in code.splitlines() if line.strip() and not line.strip().startswith("#")]
    assert len(statements) <= 30
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(code, str(PAGE), "exec"), names)
    record = names["record"]
    assert isinstance(record, keima.GameRecord)
    assert (tmp_path / "game.sgf").read_text() == record.sgf
    analysis = names["analysis"]
    assert isinstance(analysis, keima.Analysis)
    assert analysis.visits >= 50


def test_the_page_names_what_there_is() -> None:
    page = PAGE.read_text(encoding="utf-8")
    offered = {name for name in api.__all__ if isinstance(getattr(api, name), type)}
    used = set(re.findall(r"\b(?:Game|Player|network|game|player)\.(\w+)", page))
    attributes = {attribute for name in offered for attribute in dir(getattr(api, name))}
    assert used <= attributes
    assert {"load_network", "play_game", "Player", "Game"} <= set(re.findall(r"\w+", page))


def test_keima_has_the_names_of_the_library_and_no_others() -> None:
    for name in api.__all__:
        assert getattr(keima, name) is getattr(api, name)
    with pytest.raises(AttributeError, match="nonsense"):
        keima.nonsense  # type: ignore[attr-defined]  # noqa: B018


def test_importing_keima_loads_nothing_heavy() -> None:
    script = "import sys, keima; hasattr(keima, '__wrapped__'); print(*sys.modules)"
    listed = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert {"numpy", "numba", "rich", "engine.api"} & set(listed.stdout.split()) == set()


def test_a_game_speaks_text() -> None:
    game = played("E5", "c3", "pass")
    assert game.moves == [("black", "E5"), ("white", "C3"), ("black", "pass")]
    assert (game.to_play, game.is_over, game.width, game.height, game.komi) == ("white", False, 9, 9, 7.5)
    assert game.legal_moves()[:2] + game.legal_moves()[-1:] == ["A9", "B9", "pass"]
    assert not {"E5", "C3"} & set(game.legal_moves())
    assert (game.board[4, 4], game.board[6, 2], np.count_nonzero(game.board)) == (1, 2, 2)
    assert "to play: white" in str(game)
    game.undo()
    game.play("A1", "white")
    assert game.moves[2:] == [("white", "A1")]


def test_a_game_is_not_changed_by_its_copy() -> None:
    game = played("E5")
    other = game.copy()
    other.play("C3")
    assert (len(game.moves), len(other.moves)) == (1, 2)


def test_the_komi_is_that_of_the_rules_unless_given() -> None:
    assert keima.Game(9, rules="japanese").komi == 6.5
    assert keima.Game(9, rules="japanese", komi=0.5).komi == 0.5


def test_two_passes_end_a_game_and_it_is_counted() -> None:
    game = played("E5", "pass", "pass", komi=5.5)
    assert game.is_over
    assert (game.score(), game.score(dead=["E5"])) == (81 - 5.5, -5.5)


def test_sgf_keeps_a_game() -> None:
    game = played("M2", "pass", "A1", size=(13, 4), rules="japanese", komi=-3)
    text = game.sgf(black="b", white="w", result="B+2")
    again = keima.Game.from_sgf(text.encode())
    assert (again.width, again.height, again.komi, again.moves) == (13, 4, -3.0, game.moves)
    assert again.sgf(black="b", white="w", result="B+2") == text
    assert keima.Game.from_sgf(text.encode(), before_move=2).moves == [("black", "M2")]


@pytest.mark.parametrize(
    ("wrong", "error", "text"),
    [
        (lambda: keima.Game(1), keima.GoError, "from 2 to 25, got 1"),
        (lambda: keima.Game((9, 26)), keima.GoError, "(9, 26)"),
        (lambda: keima.Game(9, rules="chess"), keima.GoError, "chess"),
        (lambda: keima.Game(9, komi=0.3), keima.GoError, "0.3"),
        (lambda: keima.Game([9, 9]), keima.GoError, "[9, 9]"),
        (lambda: keima.Game(9, komi="6.5"), keima.GoError, "'6.5'"),
        (lambda: played().play("E5", color="Black"), keima.GoError, "'Black'"),
        (lambda: keima.Game.from_sgf(b"(;SZ[99])"), keima.BadSgf, "99"),
        (lambda: played("E5", "E5"), keima.IllegalMove, "E5: occupied"),
        (lambda: played("I5"), keima.BadVertex, "I5"),
        (lambda: played().undo(), keima.IllegalMove, "undo"),
        (lambda: keima.load_network("absent.bin.gz"), keima.WeightsError, "absent.bin.gz"),
    ],
)
def test_what_is_wrong_is_refused(wrong: object, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=re.escape(text)):
        wrong()  # type: ignore[operator]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda network: network.evaluate(played(), symmetry=8),
        lambda network: network.evaluate(played(), symmetry=-1),
        lambda network: keima.Player(network, visits=0),
        lambda network: keima.Player(network).search(played(), seconds=-1.0),
    ],
)
def test_a_number_out_of_range_is_refused(network: keima.Network, wrong: Callable[[keima.Network], object]) -> None:
    with pytest.raises(keima.GoError, match=r"expected .*got (8|-1|0|-1\.0)$"):
        wrong(network)


def test_a_closed_network_answers_nothing() -> None:
    network = keima.load_network("zero9", threads=1)
    player = keima.Player(network)
    network.close()
    for ask in (network.evaluate, player.search, player.genmove, player.score, lambda _: keima.Player(network)):
        with pytest.raises(keima.GoError, match=f"{network.name}: the network is closed"):
            ask(played())


@pytest.mark.parametrize(
    ("record", "rules", "komi"),
    [
        (b"(;SZ[9])", "chinese-kgs", 7.5),
        (b"(;SZ[9]HA[2]AB[cc][gg])", "chinese-kgs", 0.5),
        (b"(;SZ[9]HA[2]AB[cc][gg]KM[6.5]RU[Japanese])", "japanese", 6.5),
    ],
)
def test_a_record_that_says_neither_rules_nor_komi_has_the_usual_ones(record: bytes, rules: str, komi: float) -> None:
    game = keima.Game.from_sgf(record)
    assert (game.inner.rules, game.komi) == (keima.Game(9, rules=rules).inner.rules, komi)
    chosen = keima.Game.from_sgf(record, rules="aga", komi=3)
    assert chosen.komi == (komi if b"KM" in record else 3)


@pytest.mark.parametrize("moves", [BLACK_AHEAD, WHITE_AHEAD])
def test_an_evaluation_is_for_the_side_to_move(network: keima.Network, moves: tuple[str, ...]) -> None:
    ahead = played(*moves, komi=0)
    evaluation = network.evaluate(ahead)
    leader = "black" if moves == BLACK_AHEAD else "white"
    assert evaluation.to_play == ahead.to_play == leader
    assert evaluation.winrate > 0.9
    assert evaluation.score_lead is not None and evaluation.score_lead > 20
    assert evaluation.ownership is not None and evaluation.ownership.mean() > 0.5
    ahead.undo()
    behind = network.evaluate(ahead)
    assert behind.to_play != leader
    assert behind.winrate < 0.1
    assert behind.score_lead is not None and behind.score_lead < -20
    assert behind.ownership is not None and behind.ownership.mean() < -0.5


def test_a_policy_is_a_board_and_a_pass(network: keima.Network) -> None:
    game = played("E5", "C3")
    evaluation = network.evaluate(game, symmetry=3)
    assert evaluation.policy.shape == (9, 9)
    assert evaluation.policy.sum() + evaluation.pass_policy == pytest.approx(1, abs=1e-5)
    assert (evaluation.policy[game.board != 0] == 0).all()
    [(first, probability), *others] = evaluation.best_moves(100)
    assert probability == evaluation.policy.max()
    assert {first, *(move for move, _ in others)} == set(game.legal_moves())


@pytest.mark.parametrize("moves", [BLACK_AHEAD, WHITE_AHEAD])
def test_a_search_is_for_the_side_to_move(network: keima.Network, moves: tuple[str, ...]) -> None:
    analysis = keima.Player(network, visits=20, seed=1).search(played(*moves, komi=0))
    assert analysis.winrate > 0.9
    assert analysis.score_lead > 20
    assert analysis.ownership is not None and analysis.ownership.shape == (9, 9) and analysis.ownership.mean() > 0.5
    assert analysis.visits >= 20
    assert sum(info.visits for info in analysis.moves) >= 19
    assert all(info.pv[0] == info.move and info.winrate > 0.9 for info in analysis.moves)
    assert [info.visits for info in analysis.moves[:1]] == [max(info.visits for info in analysis.moves)]


def test_a_seed_gives_the_same_search_again(network: keima.Network) -> None:
    game = played("E5")
    first, second = (keima.Player(network, visits=30, seed=5).search(game).moves for _ in range(2))
    assert first == second
    assert len(game.moves) == 1


def test_limits_of_a_search_stand_above_the_player_s(network: keima.Network) -> None:
    player = keima.Player(network, visits=1000)
    assert 10 <= player.search(played("D4"), visits=10).visits < 100


def test_settings_are_search_parameters(network: keima.Network) -> None:
    with pytest.raises(keima.GoError, match="nonsense"):
        keima.Player(network, settings={"nonsense": 1})
    player = keima.Player(network, visits=5, settings={"resign_threshold": 1.0, "resign_turns": 1})
    assert player.genmove(played(*WHITE_AHEAD[:-1], komi=0)) == "resign"


def test_a_game_is_played_between_any_two() -> None:
    start = played("A1", size=3, rules="tromp-taylor", komi=0.5)
    record = keima.play_game(Script("b", "B2", "pass"), Script("w", "pass", "pass"), start)
    assert (record.result, record.winner) == ("B+8.5", "black")
    assert [move for _, move in record.game.moves] == ["A1", "pass", "B2", "pass", "pass"]
    assert [len(start.moves), record.sgf.count("PB[b]"), record.sgf.count("RE[B+8.5]")] == [1, 1, 1]


def test_a_resignation_ends_a_game() -> None:
    record = keima.play_game(Script("b", "E5", "resign"), Script("w", "C3"), keima.Game(9))
    assert (record.result, record.winner, len(record.game.moves)) == ("W+R", "white", 2)


def test_a_game_that_does_not_end_is_counted() -> None:
    record = keima.play_game(FirstLegal(), FirstLegal(), played(size=3, rules="tromp-taylor"))
    assert (len(record.game.moves), record.game.is_over) == (3 * 9, False)
    assert record.result == f"W+{-record.game.score():g}"


def test_a_position_that_comes_a_third_time_under_simple_ko_voids_a_game() -> None:
    cycle = ["A2", "B1", "A1", "B2", "A2", "A1"]
    moves = ["D2", "D1", "A1", "C2", "B2", "C1", "B1", *cycle, *cycle]
    start = keima.Game((4, 2), rules="japanese")
    record = keima.play_game(Script("b", *moves[::2]), Script("w", *moves[1::2]), start)
    assert [move for _, move in record.game.moves] == moves
    assert (record.result, record.winner, record.game.is_over) == ("Void", None, True)
    assert "RE[Void]" in record.sgf


def test_an_illegal_move_is_the_caller_s_to_know() -> None:
    with pytest.raises(keima.IllegalMove, match="E5"):
        keima.play_game(Script("b", "E5"), Script("w", "E5"), keima.Game(9))


def test_players_play_and_count_with_dead_stones_taken_off(network: keima.Network) -> None:
    walls = [move for row in range(1, 10) for move in (f"D{row}", f"F{row}")]
    game = played(*walls, "pass", "B5", "pass", "pass", komi=0)
    assert game.score() != game.score(dead=["B5"])
    assert keima.Player(network, visits=20, seed=1).score(game) == game.score(dead=["B5"])


def test_a_closed_network_may_be_closed_again() -> None:
    network = keima.load_network("zero9", threads=1)
    keima.Player(network, visits=2).search(keima.Game(9))
    network.close()
    network.close()
