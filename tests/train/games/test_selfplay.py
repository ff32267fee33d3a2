"""Self-play: what is recorded, masked and kept, that a seed decides all of it, and that a crash costs little."""

import json
import math
import re
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.color import BLACK, WHITE, color_letter
from engine.errors import GoError
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Evaluator
from engine.evaluation.positions import PositionBatch
from engine.game import Game
from engine.records.sgf import load_sgf
from engine.scoring import final_score
from engine.train.data.held_out import is_held_out
from engine.train.data.samples import TARGETS, Samples, concatenate, read_shard, shard_info
from engine.train.games.referee import Referee
from engine.train.games.selfplay import selfplay
from engine.train.games.selfplay_settings import SelfplaySettings
from engine.train.games.selfplay_stats import SelfplayStats
from engine.train.games.selfplay_store import RECORDS, sample_hash
from engine.train.teaching.exploration_settings import ExplorationSettings
from engine.vertex import PASS, policy_index
from tests.positions import game_from_diagram
from tests.search.fakes import FakeEvaluator

TINY = SelfplaySettings(
    sizes=(5,), games_at_once=6, full_visits=24, quick_visits=6, full_share=0.4, resign_threshold=0.0, turns=4
)
SETTLED = """
. X . X .
X X X X X
X X X X X
O O O O O
. O . O .
"""
LARGE = """
. X . X X
X X X X X
. . . . .
. . . . .
. . . . .
"""
POLICY, REPLY, OUTCOME, SCORE, OWNERSHIP = range(len(TARGETS))


def fake(threads: int) -> Evaluator:
    """Open what a process of a workers evaluates by."""
    return FakeEvaluator()


def play(folder: Path, games: int, evaluator: Any = None, seed: int = 1, **changes: Any) -> SelfplayStats:
    return selfplay(replace(TINY, **changes), evaluator or FakeEvaluator(), folder, games, seed)


def records(folder: Path) -> dict[int, str]:
    """Return the record of each game by its number."""
    lines = (folder / RECORDS).read_text(encoding="utf-8").splitlines()
    found = {int(re.search(r"RO\[(\d+)\]", line)[1]): line for line in lines}  # type: ignore[index]
    assert len(found) == len(lines)
    return found


def samples(folder: Path, size: str = "5x5") -> Samples:
    return concatenate([read_shard(path) for path in sorted((folder / size).glob("*.safetensors"))])


def efforts(record: str) -> dict[str, list[int]]:
    """Return the moves of each effort as the record's comment lists them."""
    return {
        name: [int(each) for each in numbers.split(",")]
        for name, numbers in re.findall(r"(opening|quick|full|decided|forced)=([\d,]+)", record)
    }


def by_game(folder: Path) -> list[tuple[str, Samples]]:
    """Return each record that has samples, with them in the order of the moves."""
    found, games = samples(folder), []
    for number, line in records(folder).items():
        own = found[found.game == np.uint64(sample_hash(1, number, line))]
        if len(own):
            games.append((line, own[np.argsort(own.ply)]))
    assert sum(len(own) for _, own in games) == len(found)
    return games


def test_every_record_replays_and_counts_as_it_says(tmp_path: Path) -> None:
    stats = play(tmp_path, 12)
    found = records(tmp_path)
    assert sorted(found) == list(range(12))
    assert (stats.games, stats.done) == (12, 12)
    for line in found.values():
        record = load_sgf(line.encode())
        game = Game(5, rules=record.rules or pytest.fail("no rules"), komi=record.komi or 0.0)
        for color, vertex in record.moves:
            assert not game.is_over
            assert color == game.to_play
            game.play(color, vertex)
        score = final_score(game)
        assert record.result == ("0" if score == 0 else f"{'B' if score > 0 else 'W'}+{abs(score):g}")


def test_full_searches_are_samples_and_quick_ones_are_not(tmp_path: Path) -> None:
    stats = play(tmp_path, 8)
    found = samples(tmp_path)
    assert len(found) == stats.samples > 0
    for line, own in by_game(tmp_path):
        assert (own.ply + 1).tolist() == efforts(line)["full"]
    kept = [line for line in records(tmp_path).values() if not is_held_out(line.encode())]
    assert len(found) == sum(len(efforts(line).get("full", [])) for line in kept)
    assert (found.weights[:, POLICY] == 1).all()
    assert found.policy.astype(np.float64).sum(axis=1) == pytest.approx(1.0, abs=0.01)


def test_quick_searches_teach_all_but_the_policy_where_that_is_wanted(tmp_path: Path) -> None:
    play(tmp_path, 4, quick_weight=0.5)
    for line, own in by_game(tmp_path):
        is_full = np.isin(own.ply + 1, efforts(line).get("full", []))
        assert (~is_full).any()
        assert (own.weights[:, POLICY] == is_full).all()
        assert (own.weights[:, OUTCOME] == np.where(is_full, 1.0, 0.5)).all()


def test_targets_are_the_result_for_the_side_to_move(tmp_path: Path) -> None:
    play(tmp_path, 6, full_share=1.0, opening_share=0.0)
    for line, own in by_game(tmp_path):
        game = load_sgf(line.encode()).game()
        score = final_score(game)
        signs = np.where(own.ply % 2 == 0, 1, -1)
        assert own.score == pytest.approx(signs * score)
        assert own.outcome[:, 0] == pytest.approx(np.where(signs * score > 0, 1.0, 0.5 if score == 0 else 0.0))
        assert own.outcome.sum(axis=1) == pytest.approx(1.0)
        owned = own.ownership.astype(int).sum(axis=1) / 127
        assert owned == pytest.approx(signs * (score + game.komi))


def test_the_reply_is_what_the_opponent_thought_of_next(tmp_path: Path) -> None:
    play(tmp_path, 4, full_share=1.0, opening_share=0.0)
    for _, own in by_game(tmp_path):
        assert np.array_equal(own.reply[:-1], own.policy[1:])
        assert own.weights[:, REPLY].tolist() == [1.0] * (len(own) - 1) + [0.0]


def test_a_seed_decides_every_game_whatever_the_company(tmp_path: Path) -> None:
    play(tmp_path / "a", 8)
    play(tmp_path / "b", 8, games_at_once=3, batches=1, turns=50)
    play(tmp_path / "c", 8, seed=2)
    assert records(tmp_path / "a") == records(tmp_path / "b")
    assert records(tmp_path / "a") != records(tmp_path / "c")
    first, second = (samples(tmp_path / name) for name in "ab")
    order = [np.lexsort((each.ply, each.game)) for each in (first, second)]
    for name in ("planes", "policy", "reply", "score", "weights"):
        assert np.array_equal(getattr(first, name)[order[0]], getattr(second, name)[order[1]])


def test_a_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    play(tmp_path / "whole", 8)
    stop = threading.Event()
    selfplay(TINY, FakeEvaluator(), tmp_path / "parts", 8, 1, stop=stop, report=lambda _: stop.set())
    play(tmp_path / "parts", 3)
    play(tmp_path / "parts", 8)
    assert records(tmp_path / "whole") == records(tmp_path / "parts")
    assert len(samples(tmp_path / "whole")) == len(samples(tmp_path / "parts"))
    assert play(tmp_path / "parts", 8).games == 0


_CHILD = """
import sys
from pathlib import Path
from tests.train.games.test_selfplay import TINY
from tests.search.fakes import FakeEvaluator
from engine.train.games.selfplay import selfplay
from dataclasses import replace
selfplay(replace(TINY, shard_samples=20), FakeEvaluator(), Path(sys.argv[1]), 400, 1)
"""


def test_a_kill_loses_the_games_in_progress_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "killed"
    child = subprocess.Popen([sys.executable, "-c", _CHILD, str(folder)])
    games = folder / RECORDS
    try:
        while child.poll() is None and (not games.exists() or games.read_bytes().count(b"\n") < 12):
            threading.Event().wait(0.05)
        assert child.poll() is None
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    before = games.read_bytes().rpartition(b"\n")[0].decode().splitlines()
    assert len(before) >= 12
    wanted = max(records_of(before)) + 4
    selfplay(TINY, FakeEvaluator(), folder, wanted, 1)
    play(tmp_path / "whole", wanted)
    after, whole = records(folder), records(tmp_path / "whole")
    assert {number: after[number] for number in range(wanted)} == whole
    assert set(before) <= set(after.values())
    learned = [line for line in after.values() if not is_held_out(line.encode())]
    assert len(samples(folder)) == sum(len(efforts(line).get("full", [])) for line in learned)
    assert not list((folder / "pending").iterdir())


def records_of(lines: list[str]) -> list[int]:
    return [int(re.search(r"RO\[(\d+)\]", line)[1]) for line in lines]  # type: ignore[index]


def test_shards_have_a_size_and_name_their_games(tmp_path: Path) -> None:
    play(tmp_path, 10, shard_samples=30)
    paths = sorted((tmp_path / "5x5").glob("*.safetensors"))
    infos = [shard_info(path) for path in paths]
    assert len(paths) > 1
    assert all(info.count >= 30 for info in infos[:-1])
    games = [int(each) for info in infos for each in info.provenance["games"].split()]
    assert len(games) == len(set(games))
    assert {info.provenance["seed"] for info in infos} == {"1"}


def test_a_folder_of_other_settings_is_refused(tmp_path: Path) -> None:
    play(tmp_path, 1)
    with pytest.raises(GoError, match="full_visits was 24 there and is 25 now"):
        play(tmp_path, 2, full_visits=25)
    with pytest.raises(GoError, match="seed was 1 there and is 2 now"):
        play(tmp_path, 2, seed=2)


def test_moves_from_outside_are_flagged_and_no_targets(tmp_path: Path) -> None:
    asked: list[int] = []

    def corner(game: Game) -> int | None:
        asked.append(game.move_number)
        return next((vertex for vertex in game.legal_vertices() if vertex == 7), None)

    settings = replace(TINY, full_share=1.0, exploration=ExplorationSettings(start=0.5, decay=1.0, hints=0.5))
    selfplay(settings, FakeEvaluator(), tmp_path, 4, 1, adviser=corner)
    assert asked
    found = [efforts(line) for line in records(tmp_path).values()]
    forced = sum(len(each.get("forced", [])) for each in found)
    assert forced > 5
    for line, own in by_game(tmp_path):
        assert (own.ply + 1).tolist() == efforts(line)["full"]
        followed = np.append(np.diff(own.ply) == 1, False)
        assert np.array_equal(own.weights[:, REPLY] == 1, followed)


class Hopeless(FakeEvaluator):
    """Black always believes that it has lost, and White that it has won."""

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        super().evaluate(positions, count, out)
        out.value[:count] = np.where(positions.to_play[:count] == BLACK, -0.99, 0.99)


def test_a_decided_game_is_played_out_quickly_so_that_every_sample_has_score_and_owners(tmp_path: Path) -> None:
    changes: dict[str, Any] = {"resign_threshold": 0.2, "opening_share": 0.0, "komi": -60.0, "full_share": 1.0}
    stats = play(tmp_path / "a", 6, Hopeless(), no_resign_share=0.0, decided_visits=4, **changes)
    assert (stats.decided, stats.would_resign, stats.white_wins) == (6, 0, 0)
    found = samples(tmp_path / "a")
    assert (found.weights[:, [OUTCOME, SCORE, OWNERSHIP]] == 1).all()
    for line, own in by_game(tmp_path / "a"):
        numbers = efforts(line)
        moves = len(load_sgf(line.encode()).moves)
        assert numbers["full"] == list(range(1, numbers["decided"][0])), "the rest is quick"
        assert numbers["decided"] == list(range(numbers["decided"][0], moves + 1))
        assert numbers["decided"][0] > TINY.earliest_resignation(5)
        # The move with which the game is decided is no target, as the position in which a side would have resigned.
        assert (own.ply + 1).tolist() == numbers["full"][:-1]
    whole = play(tmp_path / "b", 6, Hopeless(), no_resign_share=1.0, **changes)
    assert (whole.decided, whole.would_resign, whole.white_wins) == (0, 6, 0)
    assert whole.to_json()["false_resign_rate"] == 1.0
    assert samples(tmp_path / "b").weights[:, SCORE].all()
    assert stats.evaluations / stats.moves < 0.7 * whole.evaluations / whole.moves


def test_boards_and_rules_are_drawn_and_take_turns(tmp_path: Path) -> None:
    changes: dict[str, Any] = {"sizes": (4, 5), "size_weights": (1.0, 3.0), "rules": ("tromp-taylor", "chinese")}
    play(tmp_path, 24, games_at_once=3, turns=2, **changes)
    found = [load_sgf(line.encode()) for line in records(tmp_path).values()]
    sizes = [record.width for record in found]
    assert 0 < sizes.count(4) < sizes.count(5)
    assert len({record.rules for record in found}) == 2
    assert len(samples(tmp_path, "4x4")) > 0
    komi = [record.komi for record in found if record.width == 5]
    assert len(set(komi)) > 2
    assert all((2 * each).is_integer() for each in komi if each is not None)


def test_a_held_out_game_is_kept_without_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.train.games.selfplay.is_held_out", lambda record: b"RO[1]" in record)
    play(tmp_path, 3, full_share=1.0)
    found = records(tmp_path)
    learned = set(samples(tmp_path).game.tolist())
    assert learned == {sample_hash(1, number, found[number]) for number in (0, 2)}


def test_a_game_goes_on_where_the_enemy_might_live() -> None:
    game = game_from_diagram(LARGE)
    referee = Referee(game, 100, ends_settled=True)
    assert not referee.is_over
    avoided = referee.pointless(WHITE)
    assert avoided is not None
    assert not any(avoided[WHITE, vertex] for vertex in game.legal_vertices(WHITE))


def test_nobody_plays_where_nothing_can_change(tmp_path: Path) -> None:
    play(tmp_path, 12, exploration=ExplorationSettings(), opening_share=0.0)
    for line in records(tmp_path).values():
        record = load_sgf(line.encode())
        game = Game(5, rules=record.rules or pytest.fail("no rules"))
        referee = Referee(game, 1000, ends_settled=True)
        for color, vertex in record.moves:
            avoided = referee.pointless(color)
            assert avoided is None or vertex == PASS or avoided[color, vertex] == 0
            game.play(color, vertex)
            referee.watch()


class Void(Game):
    """A game that the rules have made void."""

    @property
    def no_result(self) -> bool:
        return True


def test_a_void_game_has_no_winner_and_no_points() -> None:
    result = Referee(Void(5), 100, ends_settled=True).result()
    assert (result.winner, result.score, result.ownership) == (None, None, None)
    assert result.targets(BLACK)["outcome"] == (0.0, 0.0, 1.0)


def test_a_game_is_over_when_nothing_can_change() -> None:
    game = game_from_diagram(SETTLED)
    assert Referee(game, 100, ends_settled=True).is_over
    open_game = Referee(game, 100, ends_settled=False)
    assert not open_game.is_over
    assert not Referee(game, 1, ends_settled=False).unfinished
    avoided = open_game.pointless(WHITE)
    assert avoided is not None
    assert avoided[WHITE, game.legal_vertices(WHITE)].all()
    assert not avoided[WHITE, PASS]


def test_an_endless_game_is_counted_as_it_stands(tmp_path: Path) -> None:
    stats = play(tmp_path, 3, longest=0.2)
    assert stats.unfinished == 3
    assert stats.moves == 15
    assert all("counted as it stood" in line for line in records(tmp_path).values())


def test_temperature_falls_with_the_move_and_shapes_targets_where_wanted(tmp_path: Path) -> None:
    schedule = SelfplaySettings(temperature=0.8, temperature_end=0.2)
    assert schedule.temperature_at(0, 19) == pytest.approx(0.8)
    assert schedule.temperature_at(19, 19) == pytest.approx(0.5)
    assert schedule.temperature_at(9, 9) == pytest.approx(0.5)
    assert replace(schedule, temperature_moves=30).temperature_at(30, 9) == 0.0
    agz: dict[str, Any] = {"temperature": 0.0, "temperature_end": 0.0, "full_share": 1.0, "opening_share": 0.0}
    play(tmp_path / "a", 3, tempers_targets=True, **agz)
    largest = samples(tmp_path / "a").policy.max(axis=1)
    shares = 1 / largest.astype(np.float64)
    assert shares == pytest.approx(np.rint(shares), abs=0.01), "moves with as many visits share the target equally"
    assert (largest == 1).mean() > 0.5
    for line, own in by_game(tmp_path / "a"):
        moves = load_sgf(line.encode()).moves
        assert all(row[policy_index(moves[ply].vertex, 5, 5)] > 0 for row, ply in zip(own.policy, own.ply, strict=True))
    play(tmp_path / "b", 3, **agz)
    assert (samples(tmp_path / "b").policy.max(axis=1) < 1).any()


def test_statistics_add_up(tmp_path: Path) -> None:
    evaluator = FakeEvaluator()
    stats = play(tmp_path, 6, evaluator)
    figures = json.loads(json.dumps(stats.to_json()))
    assert stats.evaluations >= evaluator.positions > 0
    assert stats.black_wins + stats.white_wins + stats.draws + stats.no_results == 6
    assert 0 < figures["busy_share"] <= 1
    assert figures["mean_length"] == pytest.approx(
        sum(len(load_sgf(line.encode()).moves) for line in records(tmp_path).values()) / 6, abs=1e-3
    )


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("full_visits", 0, "full_visits: expected an integer, 1 or more, got 0"),
        ("no_resign_share", 1.5, "no_resign_share: expected a number from 0 to 1, got 1.5"),
        ("sizes", (), "sizes: expected at least one side"),
        ("sizes", (1,), "sizes: expected an integer from 2 to 25, got (1,)"),
        ("sizes", (9, 13, 9), "sizes: expected each side once, got [9, 13, 9]"),
        ("size_weights", (1.0, 2.0), "size_weights: expected 1 of them"),
        ("komis", (1.0, 2.0), "komis: expected 1 of them"),
        ("rules", ("checkers",), "unknown rules 'checkers'"),
        ("starts_share", 0.5, "starts_share: expected records"),
        ("longest", 0.0, "longest: expected a number above 0, got 0.0"),
        ("temperature", math.nan, "temperature: expected a number, 0 or more, got nan"),
        ("komi", math.inf, "komi: expected a number from -400 to 400, got inf"),
        ("size_weights", (math.nan,), "size_weights: expected a number, 0 or more, got (nan,)"),
        ("search", {"c_puct": "nan"}, "setting 'c_puct': expected a number"),
        ("search", {"noise_fraction": "0.3"}, "noise_fraction has no effect there, set noise_fraction of self"),
        ("search", {"root_policy_temperature": "1.3"}, "root_policy_temperature has no effect there, set root_te"),
        ("search", {"resign_threshold": "0.1"}, "resign_threshold has no effect there, set resign_threshold"),
    ],
)
def test_a_setting_out_of_range_is_named(name: str, value: Any, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        SelfplaySettings(**{name: value})


def test_colors_in_records_are_those_of_the_result(tmp_path: Path) -> None:
    stats = play(tmp_path, 6)
    results = [load_sgf(line.encode()).result for line in records(tmp_path).values()]
    assert sum(each.startswith(color_letter(BLACK)) for each in results) == stats.black_wins
