"""Where games of self-play begin, and how their numbers are dealt."""

import zipfile
from pathlib import Path

import numpy as np
import pytest

from engine.color import WHITE
from engine.errors import GoError
from engine.records.sgf import load_sgf
from engine.records.sgf_writer import write_game
from engine.train.data.held_out import is_held_out
from engine.train.games.selfplay_settings import SelfplaySettings
from engine.train.games.selfplay_starts import GameQueue, Kind, Starts
from tests.positions import random_game
from tests.train.games.test_selfplay import play, records


def test_whoever_waits_for_a_rare_board_takes_no_games_of_others() -> None:
    settings = SelfplaySettings(sizes=(4, 5, 6), size_weights=(0.05, 0.95, 0.0))
    counters, done = [0, 0], {0, 1, 2, 30}
    deals = [GameQueue(settings, 1, 400, done, counters) for _ in range(3)]
    rare, common = deals[0].kinds
    taken: dict[Kind, list[int]] = {rare: [], common: []}
    while (number := deals[0].take(rare)) is not None:
        taken[rare].append(number)
    assert deals[1].first(common) == deals[2].first(common) < 10
    while (number := deals[len(taken[common]) % 3].take(common)) is not None:
        taken[common].append(number)
    assert all(numbers == sorted(numbers) for numbers in taken.values())
    assert sorted(taken[rare] + taken[common]) == [number for number in range(400) if number not in done]
    assert 5 < len(taken[rare]) < 50


def test_games_start_from_records(tmp_path: Path) -> None:
    start = tmp_path / "starts"
    start.mkdir()
    (start / "one.sgf").write_text("(;GM[1]SZ[5]AB[bb][cb]AW[dd]PL[W];W[cd];B[dc];W[bd];B[ed];W[de])")
    play(tmp_path / "out", 6, starts=(str(start),), starts_share=1.0)
    for line in records(tmp_path / "out").values():
        record = load_sgf(line.encode())
        game = record.game(1)
        assert (len(game.setup_black), len(game.setup_white)) == (2, 1)
        assert record.moves[0].color == WHITE
    with pytest.raises(GoError, match="no record"):
        play(tmp_path / "none", 1, starts=(str(tmp_path / "out" / "selfplay.json"),), starts_share=1.0)


def test_no_game_starts_from_a_held_out_record_wherever_it_lies(tmp_path: Path) -> None:
    texts = [write_game(random_game(seed, 3, moves=6)).encode() for seed in range(200)]
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for number, text in enumerate(texts):
            archive.writestr(f"{number}.sgf", text)
    held_out = tmp_path / "held_out.sgf"
    held_out.write_bytes(b"".join(text for text in texts if is_held_out(text)))
    starts = Starts([str(tmp_path / "all.zip")])
    generator, kind = np.random.default_rng(1), Kind((3, "tromp-taylor", 0.0))
    games = [starts.draw(kind, 0.5, generator) for _ in range(300)]
    openings = {load_sgf(text).moves[:3] for text in texts if is_held_out(text)}
    trained = {load_sgf(text).moves[:3] for text in texts if not is_held_out(text)}
    seen = {tuple(game.moves[:3]) for game in games if game is not None and len(game.moves) > 2}
    assert seen & trained and not seen & (openings - trained)
    with pytest.raises(GoError, match=r"no record of a square board .* 0 unreadable, \d+ held out"):
        Starts([str(held_out)])


def test_any_number_of_games_may_be_over_where_they_start(tmp_path: Path) -> None:
    start = tmp_path / "settled.sgf"
    start.write_text("(;GM[1]SZ[5]AB[ba][da][ab][bb][cb][db][eb][ac][bc][cc][dc][ec]AW[ad][bd][cd][dd][ed][be][de])")
    stats = play(tmp_path / "out", 1200, starts=(str(start),), starts_share=1.0)
    assert (stats.games, stats.samples) == (1200, 0)
