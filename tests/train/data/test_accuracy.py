"""The figures of a network on records: those that a slow count by hand gives, on held-out games alone."""

import json
import math
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from engine.color import BLACK
from engine.encoders import ENCODERS
from engine.encoders.human import human_metadata
from engine.errors import BadSgf, GoError
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Attributes
from engine.evaluation.positions import PositionBatch
from engine.game import Game
from engine.nets.random import random_spec
from engine.records.sgf import load_sgf
from engine.records.sgf_writer import write_game
from engine.support.json_text import json_text
from engine.train.data.accuracy import Means, Predictor, accuracy_of, held_out_records
from engine.train.data.accuracy_cli import accuracy_command, samples_command
from engine.train.data.accuracy_report import plot_accuracy
from engine.train.data.held_out import is_held_out
from engine.train.data.record_shards import Shards
from engine.train.data.records import Source
from engine.train.data.replay import Window
from engine.train.data.samples import BadSamples, read_shard, shard_info
from engine.vertex import policy_index
from tests.positions import random_game
from tests.shared import require_shared
from tests.train.random_data import learnable_samples
from weights import native


class Prejudiced:
    """Likes points of small number, and Black, who will own half of everything and win by 5 points."""

    attributes = Attributes("prejudiced", 4, 8, has_score=True, has_ownership=True)

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Write the same of every position, but for legality and the side to move."""
        for row in range(count):
            sign = 1 if positions.to_play[row] == BLACK else -1
            liking = positions.legal[row] * np.arange(positions.legal.shape[1], 0, -1)
            out.policy[row] = liking / liking.sum()
            out.value[row], out.score[row], out.ownership[row] = sign * 0.6, sign * 5, sign * 0.5

    def close(self) -> None:
        """Nothing to free."""


PREJUDICED = Predictor("p", Prejudiced())


def policy_of(game: Game, color: int) -> np.ndarray:
    area = game.width * game.height
    liking = np.arange(area + 1, 0, -1).astype(float)
    legal = {policy_index(vertex, game.width, game.height) for vertex in game.legal_vertices(color)} | {area}
    liking[[index for index in range(area) if index not in legal]] = 0
    return liking / liking.sum()


def records() -> list[Source]:
    results = ["B+R", "W+R", "W+T", ""]
    games = [random_game(seed, 5 - seed % 2, 5, moves=25) for seed in range(6)]
    return [(str(seed), write_game(game, result=results[seed % 4]).encode()) for seed, game in enumerate(games)]


def test_figures_are_those_counted_by_hand() -> None:
    accuracy = accuracy_of(PREJUDICED, records(), bucket=10)
    hits, among, losses, squares, entropies, right = ([] for _ in range(6))
    for _, text in records():
        record = load_sgf(text)
        for (color, vertex), game in zip(record.moves, record.positions(), strict=False):
            policy = policy_of(game, color)
            index = policy_index(vertex, game.width, game.height)
            order = np.argsort(-policy, kind="stable")[: np.count_nonzero(policy)].tolist()
            hits.append(order[0] == index)
            among.append(index in order[:5])
            losses.append(-math.log(policy[index]))
            if record.result.endswith("R"):
                won = (record.result[0] == "B") == (color == BLACK)
                value = 0.6 if color == BLACK else -0.6
                squares.append((value - (1 if won else -1)) ** 2)
                entropies.append(-math.log((1 + value) / 2 if won else (1 - value) / 2))
                right.append((value > 0) == won)
    total = accuracy.total
    assert (total.positions, total.valued) == (len(hits), len(squares))
    assert 0 < sum(right) < len(right)
    expected = [hits, among, losses, squares, entropies, right]
    got = [total.top_1, total.top_5, total.policy_loss, total.value_error, total.value_loss, total.value_right]
    assert got == pytest.approx([np.mean(each) for each in expected], rel=1e-5)
    assert (total.owned, accuracy.games) == (0, 6)
    assert math.isnan(total.ownership_error) and math.isnan(total.score_error)


def test_owners_and_score_are_compared_where_they_are_known() -> None:
    text = b"(;SZ[5]KM[0.5]RU[Chinese]RE[B+24.5];B[cc];W[];B[])"
    total = accuracy_of(PREJUDICED, [("a", text)]).total
    assert (total.positions, total.owned) == (3, 3)
    assert (total.ownership_error, total.ownership_right, total.score_error) == pytest.approx((0.5, 1.0, 19.5))


def test_parts_add_up_to_the_whole() -> None:
    accuracy = accuracy_of(PREJUDICED, records(), bucket=10)
    assert [part.label for part in accuracy.by_ply] == ["1-10", "11-20", "21-30"]
    assert [part.label for part in accuracy.by_size] == ["4x5", "5x5"]
    for parts in (accuracy.by_ply, accuracy.by_size):
        assert sum(part.positions for part in parts) == accuracy.total.positions
        assert sum(part.top_1 * part.positions for part in parts) == pytest.approx(
            accuracy.total.top_1 * accuracy.total.positions
        )
    late = accuracy_of(PREJUDICED, records(), bucket=2).by_ply
    assert [part.label for part in late[-2:]] == ["19-20", "21-"]


def test_broken_records_and_unknown_boards_are_left_out_with_a_reason() -> None:
    sources = [*records(), ("broken", b"no game"), ("large", b"(;SZ[9];B[aa])")]
    accuracy = accuracy_of(Predictor("p", Prejudiced(), (2, 7)), sources)
    assert accuracy.skipped == {"not readable": 1, "of a board size that the network does not support": 1}
    with pytest.raises(GoError, match="no position in 2 records: 1 not readable; 1 of a board size that the network"):
        accuracy_of(Predictor("p", Prejudiced(), (2, 7)), sources[-2:])


class Reversed(Prejudiced):
    """Likes what the other does not."""

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Write the opposite policy."""
        super().evaluate(positions, count, out)
        for row in range(count):
            liking = positions.legal[row] * np.arange(1, positions.legal.shape[1] + 1)
            out.policy[row] = liking / liking.sum()


class AsksWhoPlays(Prejudiced):
    """Remembers whom it was told about."""

    attributes = Attributes("asks", 4, 8, needs_profile=True)

    def __init__(self) -> None:
        self.told: list[tuple[bytes, int]] = []

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Remember the metadata of each position."""
        assert positions.metadata is not None
        self.told += [(positions.metadata[positions.to_play[row] - 1].tobytes(), count) for row in range(count)]
        super().evaluate(positions, count, out)


def of_ranks(*pairs: str) -> list[Source]:
    given = zip(pairs, records(), strict=False)
    return [(name, text.replace(b"(;", b"(;" + ranks.encode(), 1)) for ranks, (name, text) in given]


def test_another_network_is_compared_on_the_same_positions() -> None:
    accuracy = accuracy_of(PREJUDICED, records(), other=Predictor("r", Reversed()))
    alone = accuracy_of(Predictor("r", Reversed()), records())
    assert accuracy.against == "r"
    for both, first, second in zip(
        (accuracy.total, *accuracy.by_size),
        (accuracy.total, *accuracy.by_size),
        (alone.total, *alone.by_size),
        strict=True,
    ):
        assert both.gain == pytest.approx(first.top_1 - second.top_1)
        assert both.gain_low <= both.gain <= both.gain_high
    assert accuracy.total.gain_low < accuracy.total.gain_high
    assert math.isnan(alone.total.gain)


def test_a_network_gains_nothing_over_itself() -> None:
    total = accuracy_of(PREJUDICED, records(), other=PREJUDICED).total
    assert (total.gain, total.gain_low, total.gain_high) == (0, 0, 0)


def test_positions_are_counted_by_the_rank_of_the_side_to_move() -> None:
    games = of_ranks("BR[2d]WR[8k]", "BR[9p]WR[9p]DT[1985]", "BR[5k]")
    accuracy = accuracy_of(PREJUDICED, games)
    assert [part.label for part in accuracy.by_rank] == ["professional", "1d-3d", "7k-10k", "unknown"]
    assert sum(part.positions for part in accuracy.by_rank) == accuracy.total.positions
    dans, kyus = (part.positions for part in accuracy.by_rank[1:3])
    assert dans - kyus in (0, 1)


def test_a_human_network_is_asked_for_the_players_of_each_game() -> None:
    games = of_ranks("BR[2d]WR[8k]DT[2019]", "BR[9p]WR[9p]DT[1985]", "BR[5k]")
    asks = AsksWhoPlays()
    accuracy = accuracy_of(Predictor("asks", asks), games)
    assert accuracy.skipped == {"without the players' ranks": 1}
    told = {row for row, _ in asks.told}
    # Of the professionals both sides are told the same.
    assert told == {
        row.tobytes()
        for profile, size in (("rank_2d_8k", (5, 5)), ("proyear_1985", (4, 5)))
        for row in human_metadata(profile, *size)
    }


def test_the_figures_are_json_and_a_picture() -> None:
    accuracy = accuracy_of(PREJUDICED, records(), per_game=3)
    statistics = json.loads(json_text(asdict(accuracy)), parse_constant=pytest.fail)
    assert statistics["total"]["positions"] == 18 and statistics["total"]["score_error"] is None
    assert set(statistics["by_ply"][0]) == set(Means.__dataclass_fields__)
    assert plot_accuracy(accuracy).startswith(b"\x89PNG")


def lines(path: Path, count: int) -> Path:
    path.write_text(
        "".join(write_game(random_game(seed, 3, moves=6)).replace("\n", "") + "\n" for seed in range(count))
    )
    return path


def test_only_held_out_games_are_drawn(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.sgfl", 300)
    found = held_out_records([path], None, 1)
    assert 0 < len(found) < 20
    assert all(is_held_out(text) for _, text in found)
    assert [name for name, _ in held_out_records([path], 2, 1)] == [name for name, _ in found[:2]]
    assert len(held_out_records([path], None, 1, held_out=False)) == 300


def run(command: object, *arguments: object) -> Result:
    return CliRunner().invoke(command, [str(each) for each in arguments])  # type: ignore[arg-type]


def test_the_command_tests_a_network_file(tmp_path: Path) -> None:
    net, path = tmp_path / "net.safetensors", lines(tmp_path / "a.sgfl", 200)
    native.write(random_spec(1, 4, ENCODERS["katago-v7"], 1), net)
    result = run(accuracy_command, net, "--records", path, "--json", "--precision", "fp32", "--threads", 1)
    assert result.exit_code == 0, result.output
    statistics = json.loads(result.stdout)
    assert statistics["games"] == len(held_out_records([path], None, 1))
    table = run(accuracy_command, net, "--records", path, "--precision", "fp32", "--plot", tmp_path / "a.png")
    assert f" {statistics['total']['positions']} positions of {statistics['games']} games" in table.stdout
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    (tmp_path / "b.sgf").write_text("(;SZ[5];B[aa])")
    refused = run(accuracy_command, net, "--records", tmp_path / "b.sgf")
    assert refused.exit_code == 1 and "no held-out game" in refused.output
    (tmp_path / "bad.zip").write_text("no archive")
    unreadable = run(accuracy_command, net, "--records", tmp_path / "bad.zip", "--all-games")
    assert unreadable.exit_code == 1
    assert f"no game among the records of {tmp_path / 'bad.zip'}: 1 not readable" in unreadable.output


def test_records_become_shards(tmp_path: Path) -> None:
    path, out = lines(tmp_path / "a.sgfl", 100), tmp_path / "out"
    result = run(samples_command, "--records", path, "--out", out, "--processes", 0, "--shard", 250, "--encoder", "agz")
    assert result.exit_code == 0, result.output
    files = sorted(out.rglob("*.safetensors"))
    counts = [shard_info(file).count for file in files]
    assert {file.parent.name for file in files} == {"3x3"}
    assert set(counts[:-1]) == {250} and 0 < counts[-1] <= 250
    assert result.stdout.startswith(f"{sum(counts)} positions of ")
    games = {int(game) for file in files for game in read_shard(file).game}
    assert len(games) + len(held_out_records([path], None, 1)) == 100
    again = run(samples_command, "--records", path, "--out", out)
    assert again.exit_code == 1 and "already contains samples" in again.output


def test_samples_of_held_out_games_are_not_trained_on(tmp_path: Path) -> None:
    path, out = lines(tmp_path / "a.sgfl", 100), tmp_path / "out"
    result = run(samples_command, "--records", path, "--out", out, "--processes", 0, "--held-out")
    assert result.exit_code == 0, result.output
    with pytest.raises(BadSamples, match="samples of held-out games, which must not be trained on"):
        Window(out)


@pytest.mark.parametrize("command", [("x.net",), ()])
def test_a_seed_below_0_is_refused(tmp_path: Path, command: tuple[str, ...]) -> None:
    asked = accuracy_command if command else samples_command
    result = run(asked, *command, "--records", tmp_path, "--per-game", 2, "--seed", -1)
    assert result.exit_code == 2 and "expected an integer, 0 or more, got '-1'" in result.output


@pytest.mark.slow
def test_a_strong_network_foresees_moves_of_strong_players(tmp_path: Path) -> None:
    """g170-b6c96 never saw a human game; 9,000 positions gave 45.0 and 76.7 %."""
    net = require_shared("nets/g170-b6c96-s175395328-d26788732.bin.gz")
    path = require_shared("games/tygem9d_3.sgfl.bz2")
    result = run(accuracy_command, net, "--records", path, "--games", 200, "--per-game", 15, "--json")
    total = json.loads(result.stdout)["total"]
    assert abs(total["top_1"] - 0.455) < 0.03
    assert abs(total["top_5"] - 0.765) < 0.03


def test_samples_of_records_without_positions_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.sgf").write_text("(;SZ[5])")
    result = run(samples_command, "--records", tmp_path / "a.sgf", "--out", tmp_path / "out")
    assert (result.exit_code, f"no position in {tmp_path / 'a.sgf'}: " in result.stderr) == (1, True)


@pytest.mark.parametrize("error", [KeyboardInterrupt, BadSgf])
def test_samples_that_are_not_whole_are_removed(tmp_path: Path, error: type[BaseException]) -> None:
    shards = Shards(tmp_path, 10, {})
    with pytest.raises(error), shards.whole():
        shards.add(learnable_samples(25, 1))
        assert len(list(tmp_path.rglob("*.safetensors"))) == 2
        raise error
    assert not list(tmp_path.rglob("*.safetensors"))
    with Shards(tmp_path, 10, {}).whole():
        pass
