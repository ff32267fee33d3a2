"""Records to samples: moves, replies and results as targets, bad records counted, the same from many processes."""

import multiprocessing
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from engine.errors import GoError
from engine.game import Game
from engine.records.sgf import load_sgf
from engine.records.sgf_writer import write_game
from engine.rules import CHINESE, JAPANESE, TROMP_TAYLOR
from engine.train.data.held_out import game_hash, is_held_out
from engine.train.data.records import RecordOptions, Source, Tally, komi_of, read_samples, rules_of
from engine.train.data.samples import TARGETS, BadSamples, Samples, SampleWriter, arrays_of, concatenate
from engine.vertex import PASS, from_policy_index
from tests.positions import random_game

ALL = RecordOptions(held_out=None)


def read(texts: Sequence[bytes | str], options: RecordOptions = ALL, tally: Tally | None = None) -> list[Samples]:
    """Return the samples of records given as text, named by their number."""
    sources = [(f"{index}.sgf", text if isinstance(text, bytes) else text.encode()) for index, text in enumerate(texts)]
    return list(read_samples(sources, options, tally=tally))


def vertices(policies: np.ndarray, samples: Samples) -> list[int | None]:
    """Return the vertex of each one-hot policy, None of an empty one."""
    return [
        from_policy_index(int(row.argmax()), samples.width, samples.height) if row.any() else None for row in policies
    ]


@pytest.mark.parametrize("encoder", ["katago-v7", "liberties", "agz"])
def test_samples_hold_the_position_the_move_and_the_reply(encoder: str) -> None:
    game = random_game(5, 7, 5, moves=30, rules=CHINESE)
    (samples,) = read([write_game(game, result="W+R")], RecordOptions(encoder, held_out=None))
    moves = [move.vertex for move in game.moves]
    assert vertices(samples.policy, samples) == moves
    assert vertices(samples.reply, samples) == [*moves[1:], None]
    assert samples.weights[:, :2].tolist() == [[1, 1]] * (len(moves) - 1) + [[1, 0]]
    again = Game(7, 5, rules=CHINESE)
    writer = SampleWriter(encoder, 7, 5)
    for color, vertex in game.moves:
        writer.add(again, color, None, game_hash=0)
        again.play(color, vertex)
    expected = writer.take()
    assert np.array_equal(samples.planes, expected.planes)
    assert np.array_equal(samples.globals, expected.globals)
    assert samples.outcome[:, 1].tolist() == [1.0 - index % 2 for index in range(len(moves))], "Black lost"
    assert len(set(samples.game.tolist())) == 1


def test_a_resigned_game_has_no_score_and_no_owners() -> None:
    (samples,) = read(["(;SZ[5]RE[B+R];B[cc];W[bb])"])
    assert samples.weights.tolist() == [[1, 1, 1, 0, 0], [1, 0, 1, 0, 0]]


def test_a_counted_game_has_both_from_the_view_of_the_side_to_move() -> None:
    moves = ";B[cc];W[];B[]"
    (samples,) = read([f"(;SZ[5]KM[0.5]RU[Chinese]RE[B+24.5]{moves};W[])"])
    assert samples.score.tolist() == [24.5, -24.5, 24.5]
    assert np.all(samples.ownership == [[127], [-127], [127]])
    assert samples.weights.all(axis=1).tolist() == [True, True, False], "the game is over before the fourth move"


def test_a_result_says_nothing_of_positions_before_stones_were_set_up() -> None:
    (plain,) = read(["(;SZ[5]KM[0.5]RU[Chinese]RE[B+R];B[cc];W[bb];B[dd])"])
    (broken,) = read(["(;SZ[5]KM[0.5]RU[Chinese]RE[B+R];B[cc];W[bb];AB[dd][ee];B[ab])"])
    outcome = TARGETS.index("outcome")
    assert plain.weights[:, outcome].tolist() == [1, 1, 1]
    assert broken.weights[:, outcome].tolist() == [0, 0]


def test_handicap_komi_and_rules_reach_the_encoder() -> None:
    """Two records that differ in one of them differ in their inputs."""
    texts = [
        "(;SZ[5]KM[6.5]RU[Japanese];W[cc])",
        "(;SZ[5]KM[5.5]RU[Japanese];W[cc])",
        "(;SZ[5]KM[6.5]RU[Chinese];W[cc])",
        "(;SZ[5]KM[6.5]RU[Japanese]HA[2]AB[aa][bb];W[cc])",
    ]
    seen = {(part.planes.tobytes(), part.globals.tobytes()) for text in texts for part in read([text])}
    assert len(seen) == len(texts)


@pytest.mark.parametrize(
    ("root", "rules", "komi"),
    [
        ("KM[7.5]", CHINESE, 7.5),
        ("KM[6.5]", JAPANESE, 6.5),
        ("KM[0]", JAPANESE, 0.0),
        ("", JAPANESE, 6.5),
        ("RU[Chinese]", CHINESE, 7.5),
        ("RU[Chinese]HA[2]AB[aa][bb]", CHINESE, 0.5),
        ("RU[Chinese]AB[aa][bb]", CHINESE, 0.5),
        ("PL[B]", JAPANESE, 6.5),
        ("AB[aa][bb]AW[cc][dd]", JAPANESE, 6.5),
        ("HA[0];AE[aa]", JAPANESE, 6.5),
        ("RU[Tromp-Taylor]KM[6.5]", TROMP_TAYLOR, 6.5),
    ],
)
def test_what_a_record_leaves_open_is_what_was_usual(root: str, rules: object, komi: float) -> None:
    record = load_sgf(f"(;SZ[9]{root};B[cc])".encode())
    assert rules_of(record) == rules
    assert komi_of(record, rules_of(record)) == komi


def test_players_who_agree_on_the_count_have_passed() -> None:
    text = "(;SZ[5]KM[0]RU[Japanese]RE[B+15];B[ca];W[da];B[cb];W[db];B[cc];W[dc];B[cd];W[dd];B[ce];W[de]{})"
    counted = text.replace("B+15", "B+5")
    (samples,) = read([counted.format("")])
    assert vertices(samples.policy, samples)[-2:] == [PASS, PASS]
    assert samples.weights.all(axis=1).tolist() == [True] * 11 + [False]
    for options, source in [
        (RecordOptions(held_out=None, agreed_passes=False), counted.format("")),
        (ALL, counted.format("").replace("Japanese", "Chinese")),
        (ALL, text.format("")),
        (ALL, counted.format("").replace("B+5", "B+R")),
    ]:
        (samples,) = read([source], options)
        assert PASS not in vertices(samples.policy, samples)


def test_moves_out_of_turn_and_stones_set_up_later_give_no_samples() -> None:
    (samples,) = read(["(;SZ[5]RE[W+R];B[aa];B[bb];W[cc];B[dd];AW[ee];W[ea])"])
    assert vertices(samples.policy, samples) == points_named("aa", "cc", "dd")
    assert vertices(samples.reply, samples) == [None, *points_named("dd"), None]


def points_named(*names: str) -> list[int]:
    return [(ord(name[1]) - 96) * 6 + ord(name[0]) - 96 for name in names]


def test_boards_of_several_sizes_come_apart() -> None:
    parts = read(["(;SZ[5];B[aa];W[bb])", "(;SZ[7:4];B[gd])", "(;SZ[5];B[cc])"])
    assert [(part.width, part.height, len(part)) for part in parts] == [(5, 5, 3), (7, 4, 1)]
    tally = Tally()
    (part,) = read(["(;SZ[5];B[aa])", "(;SZ[6];B[aa])"], RecordOptions(held_out=None, sizes=frozenset({(6, 6)})), tally)
    assert part.width == 6
    assert tally.skipped == {"of another board size": 1}


def test_broken_records_are_counted_with_a_reason() -> None:
    tally = Tally()
    parts = read(["(;SZ[5];B[aa];W[bb])", "(;SZ[5];B[aa];W[aa])", "no game", "(;SZ[5])", "(;SZ[5];B[xx])"], tally=tally)
    assert sum(map(len, parts)) == tally.positions == 2
    assert tally.games == 1
    assert tally.skipped == {"with an illegal move": 1, "not readable": 2, "without a move in turn": 1}
    assert tally.examples["with an illegal move"].startswith("1.sgf: move 2: W[aa]")


def test_files_that_cannot_be_read_are_counted_too(tmp_path: Path) -> None:
    (tmp_path / "a.sgf").write_bytes(b"(;SZ[5];B[aa])")
    (tmp_path / "b.zip").write_bytes(b"no archive")
    tally = Tally()
    assert sum(map(len, read_samples([tmp_path], ALL, tally=tally))) == 1
    assert tally.skipped == {"not readable": 1}


def test_positions_are_drawn_by_seed_and_game() -> None:
    texts = [write_game(random_game(seed, 5, moves=40)) for seed in range(6)]
    drawn = [concatenate(read(texts, RecordOptions(per_game=4, seed=seed, held_out=None))) for seed in (1, 1, 2)]
    assert np.array_equal(drawn[0].ply, drawn[1].ply) and not np.array_equal(drawn[0].ply, drawn[2].ply)
    every = concatenate(read(texts))
    for game in set(every.game.tolist()):
        plies = drawn[0].ply[drawn[0].game == game]
        assert len(plies) == len(set(plies.tolist())) == 4
    row = next(
        index
        for index in range(len(every))
        if (every.game[index], every.ply[index]) == (drawn[0].game[0], drawn[0].ply[0])
    )
    assert np.array_equal(every.planes[row], drawn[0].planes[0])


def sides() -> tuple[list[Source], set[int]]:
    """Return records, and the hashes of those that are held out, about one in five hundred positions."""
    texts = [write_game(random_game(seed, 3, moves=6)).encode() for seed in range(200)]
    return [(str(seed), text) for seed, text in enumerate(texts)], {
        game_hash(each) for each in texts if is_held_out(each)
    }


def test_no_game_is_on_both_sides_of_the_split() -> None:
    sources, held = sides()
    trained = {int(game) for part in read_samples(sources, RecordOptions()) for game in part.game}
    tested = {int(game) for part in read_samples(sources, RecordOptions(held_out=True)) for game in part.game}
    assert tested == held and len(held) > 0
    assert not trained & tested
    assert trained | tested == {game_hash(text) for _, text in sources}


def test_worker_processes_give_the_same_samples_in_the_same_order() -> None:
    sources: list[Source] = [(str(seed), write_game(random_game(seed, 5, moves=30)).encode()) for seed in range(60)]
    tallies = Tally(), Tally()
    alone, together = (
        concatenate(list(read_samples(sources, RecordOptions(), processes=processes, tally=tally)))
        for processes, tally in zip((0, 1), tallies, strict=True)
    )
    assert all(
        np.array_equal(a, b) for a, b in zip(arrays_of(alone).values(), arrays_of(together).values(), strict=True)
    )
    assert tallies[0] == tallies[1]


def test_a_worker_that_is_killed_is_one_line() -> None:
    def sources() -> Iterator[Source]:
        for number in range(80):
            for worker in multiprocessing.active_children():
                worker.kill()
            yield str(number), b"(;SZ[5];B[aa])"

    with pytest.raises(GoError, match="a worker that reads records died"):
        list(read_samples(sources(), RecordOptions(held_out=None), processes=1))


def test_an_unknown_encoder_is_refused_at_once() -> None:
    with pytest.raises(BadSamples, match="unknown encoder 'katago-v99'"):
        RecordOptions("katago-v99")
    with pytest.raises(ValueError, match="at least 1 position"):
        RecordOptions(per_game=0)
