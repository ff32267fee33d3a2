"""Samples: stored planes equal the encoder's, symmetries apply to targets too, and errors name the damaged field."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.color import BLACK, EMPTY, WHITE
from engine.encoders import ENCODERS
from engine.game import Game
from engine.rules import PRESETS
from engine.support.files import write_atomically
from engine.symmetry import map_vertex
from engine.train.data.samples import (
    TARGETS,
    BadSamples,
    Samples,
    SampleWriter,
    apply_symmetries,
    arrays_of,
    concatenate,
    read_shard,
    shard_info,
    unpacked,
    write_shard,
)
from engine.train.data.targets import FinalResult, one_hot
from engine.vertex import PASS, from_policy_index, policy_index
from tests.positions import batch_of, inverse, random_game


def samples_of(
    encoder: str = "katago-v7", width: int = 5, height: int = 5, *, seed: int = 3, moves: int = 24
) -> Samples:
    """Return a sample of every position of a random game, with every target."""
    writer = SampleWriter(encoder, width, height)
    chance = np.random.default_rng(seed)
    played = random_game(seed, width, height, moves=moves)
    game = Game(width, height)
    for color, vertex in played.moves:
        owner = chance.uniform(-1, 1, width * height)
        result = FinalResult(BLACK, 3.5, owner).targets(color)
        reply = chance.random(width * height + 1)
        writer.add(game, color, one_hot(vertex, width, height), reply=reply, game_hash=seed, **result)
        game.play(color, vertex)
    return writer.take()


def same(a: Samples, b: Samples) -> bool:
    return all(
        np.array_equal(one, other) for one, other in zip(arrays_of(a).values(), arrays_of(b).values(), strict=True)
    )


@pytest.mark.parametrize("encoder", sorted(ENCODERS))
def test_bits_give_back_what_the_encoder_wrote(encoder: str) -> None:
    samples = samples_of(encoder, 7, 5)
    played = random_game(3, 7, 5, moves=24)
    games = [Game(7, 5)]
    for color, vertex in played.moves[:-1]:
        games.append(games[-1].copy())
        games[-1].play(color, vertex)
    format_ = ENCODERS[encoder]
    planes = np.zeros((len(games), format_.planes, 5, 7), dtype=np.float32)
    globals_ = np.zeros((len(games), format_.globals), dtype=np.float32)
    format_.encode(batch_of(games), len(games), planes, globals_)
    assert np.array_equal(unpacked(samples), planes)
    assert np.array_equal(samples.globals, globals_)
    assert samples.ply.tolist() == list(range(len(games)))


def test_a_sample_of_ply_k_is_the_one_encoded_after_the_end_of_the_game() -> None:
    during = samples_of(seed=8, moves=40)
    game = random_game(8, 5, moves=40)
    writer = SampleWriter("katago-v7", 5, 5)
    for ply in reversed(range(game.move_number)):
        game.undo()
        writer.add(game, game.to_play, None, game_hash=0, ply=ply)
    after = writer.take()[::-1]
    assert np.array_equal(during.planes, after.planes)
    assert np.array_equal(during.globals, after.globals)


def test_games_of_different_rules_and_komi_may_be_interleaved() -> None:
    names = ["japanese", "tromp-taylor", "chinese"] * 3
    games = [random_game(seed, 5, moves=9, rules=PRESETS[name]) for seed, name in enumerate(names)]
    together = SampleWriter("katago-v7", 5, 5)
    alone = []
    for seed, game in enumerate(games):
        game.set_komi(seed)
        together.add(game, game.to_play, None, game_hash=seed)
        writer = SampleWriter("katago-v7", 5, 5)
        writer.add(game, game.to_play, None, game_hash=seed)
        alone.append(writer.take())
    assert same(together.take(), concatenate(alone))


def test_unknown_targets_are_masked_and_known_ones_speak_for_the_side_to_move() -> None:
    writer = SampleWriter("liberties", 3, 2)
    game = Game(3, 2)
    owner = np.array([1, 1, 0.5, -1, -1, 0])
    writer.add(game, BLACK, None, game_hash=1, **FinalResult(WHITE, -4.5, owner).targets(BLACK))
    writer.add(game, WHITE, one_hot(PASS, 3, 2), game_hash=1, **FinalResult(WHITE, -4.5, owner).targets(WHITE))
    writer.add(game, WHITE, None, game_hash=1, **FinalResult(EMPTY).targets(WHITE))
    writer.add(game, BLACK, None, game_hash=1, **FinalResult(None).targets(BLACK), weights={"outcome": 0.25})
    samples = writer.take()
    assert samples.outcome.tolist() == [[0, 1, 0], [1, 0, 0], [0.5, 0.5, 0], [0, 0, 1]]
    assert samples.score.tolist() == [-4.5, 4.5, 0, 0]
    assert samples.ownership[0].tolist() == [127, 127, 64, -127, -127, 0]
    assert samples.ownership[1].tolist() == [-127, -127, -64, 127, 127, 0]
    assert dict(zip(TARGETS, samples.weights.T.tolist(), strict=True)) == {
        "policy": [0, 1, 0, 0],
        "reply": [0, 0, 0, 0],
        "outcome": [1, 1, 1, 0.25],
        "score": [1, 1, 0, 0],
        "ownership": [1, 1, 0, 0],
    }


@given(st.integers(0, 7), st.sampled_from([(5, 5), (4, 6)]))
@settings(max_examples=20, deadline=None)
def test_turning_back_gives_the_same_samples(symmetry: int, size: tuple[int, int]) -> None:
    samples = samples_of("agz", *size)
    each = np.full(len(samples), symmetry if size[0] == size[1] else symmetry % 4)
    back = np.full(len(samples), inverse(int(each[0])))
    assert same(apply_symmetries(apply_symmetries(samples, each), back), samples)


def test_the_policy_turns_with_the_stones() -> None:
    """The position after the move, turned, shows the move where the turned policy has it."""
    samples = samples_of("agz", 5, 5, moves=20)
    symmetry = np.arange(len(samples)) % 8
    seen = apply_symmetries(samples, symmetry)
    for row in range(len(samples) - 1):
        move = from_policy_index(int(samples.policy[row].argmax()), 5, 5)
        mapped = policy_index(map_vertex(move, int(symmetry[row]), 5, 5), 5, 5)
        assert seen.policy[row].argmax() == mapped
        if move != PASS:
            before = apply_symmetries(samples[row : row + 1], symmetry[row : row + 1])
            after = apply_symmetries(samples[row + 1 : row + 2], symmetry[row : row + 1])
            own_before, enemy_after = unpacked(before)[0, 0].ravel(), unpacked(after)[0, 8].ravel()
            assert enemy_after[mapped] == 1 and own_before[mapped] == 0
    assert np.array_equal(seen.policy[:, -1], samples.policy[:, -1])
    assert np.array_equal(seen.reply[:, -1], samples.reply[:, -1])


def test_turning_a_board_that_is_not_square_on_its_side_is_refused() -> None:
    samples = samples_of("agz", 4, 6)
    with pytest.raises(ValueError, match="symmetry 4 does not map a 4x6 board"):
        apply_symmetries(samples, np.full(len(samples), 4))


@pytest.mark.parametrize(
    ("target", "value"),
    [("policy", -np.ones(26)), ("policy", np.zeros(26)), ("ownership", np.full(25, 1.5)), ("score", float("nan"))],
)
def test_impossible_targets_are_refused(target: str, value: object) -> None:
    writer = SampleWriter("agz", 5, 5)
    with pytest.raises(ValueError, match=target):
        writer.add(Game(5), BLACK, **{"policy": None, target: value}, game_hash=0)  # type: ignore[arg-type]


def test_a_shard_gives_back_what_was_written(tmp_path: Path) -> None:
    samples = samples_of()
    write_shard(tmp_path / "a.safetensors", samples, {"from": "a test"})
    info = shard_info(tmp_path / "a.safetensors")
    assert (info.width, info.height, info.encoder, info.count) == (5, 5, "katago-v7", len(samples))
    assert info.provenance == {"from": "a test"}
    assert same(read_shard(tmp_path / "a.safetensors"), samples)


def test_a_shard_of_no_samples_can_be_read(tmp_path: Path) -> None:
    write_shard(tmp_path / "a.safetensors", samples_of()[:0], {})
    assert len(read_shard(tmp_path / "a.safetensors")) == 0


def edited(path: Path, **changes: object) -> None:
    """Change entries of the header of a shard; the arrays stay where they are."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    own = json.loads(header["__metadata__"]["keima-samples"])
    own.update(changes)
    header["__metadata__"]["keima-samples"] = json.dumps(own)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    write_atomically(path, len(text).to_bytes(8, "little") + text + data[8 + length :])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 2}, "version: expected 1, got 2"),
        ({"encoder": "katago-v9"}, "encoder: expected .*, got 'katago-v9'"),
        ({"encoder": "katago-v3"}, r"globals: expected float32 \[24, 14\], got float32 \[24, 19\]"),
        ({"width": 6}, r"planes: expected uint8 \[24, 22, 4\], got uint8 \[24, 22, 4\]|policy: expected"),
        ({"count": 25}, r"planes: expected uint8 \[25, 22, 4\], got uint8 \[24, 22, 4\]"),
        ({"width": 99}, "boards up to 25x25"),
    ],
)
def test_a_shard_with_another_header_is_refused(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    path = tmp_path / "a.safetensors"
    write_shard(path, samples_of(), {})
    edited(path, **changes)
    with pytest.raises(BadSamples, match=message) as caught:
        read_shard(path)
    assert str(path) in str(caught.value)


def test_a_damaged_shard_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    write_shard(path, samples_of(), {})
    whole = path.read_bytes()
    for content in (whole[:-1], whole[:100], b"", b"\xff" * 50, (2).to_bytes(8, "little") + b"{}"):
        path.write_bytes(content)
        with pytest.raises(BadSamples, match=r"a\.safetensors: "):
            read_shard(path)
    with pytest.raises(BadSamples, match="cannot be read"):
        read_shard(tmp_path / "absent.safetensors")


def test_samples_of_different_boards_do_not_mix() -> None:
    with pytest.raises(BadSamples, match="one board size"):
        concatenate([samples_of("agz"), samples_of("agz", 4, 6)])
