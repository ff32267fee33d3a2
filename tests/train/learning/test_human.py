"""Networks that learn to imitate people: who plays is an input that begins without effect, and learns."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from engine.color import BLACK
from engine.encoders import ENCODERS
from engine.evaluation.positions import METADATA
from engine.evaluators.human_profile import HumanProfileEvaluator
from engine.nets.random import random_spec
from engine.nets.spec import WEAKEST_PEOPLE, NetSpec, PolicyHead, Score, ValueKind, tensors
from engine.records.human_profiles import RANKS
from engine.records.sgf_writer import write_game
from engine.train.cli import train as command
from engine.train.data.held_out import game_hash, is_held_out
from engine.train.data.players import metadata_of, players_of
from engine.train.data.record_source import RecordSource
from engine.train.data.records import NO_RANKS, RecordOptions, Tally
from engine.train.data.samples import Samples, unpacked
from tests.positions import batch_of, evaluated, game_of, random_game
from tests.train.random_data import ENCODER, SIZE, MadeUpSource, differing, figures_of, learnable_samples, tiny_config

torch = pytest.importorskip("torch", reason="torch is not installed")

from engine.evaluators.kernel_backend import NumbaBackend  # noqa: E402
from engine.evaluators.network import NetworkEvaluator  # noqa: E402
from engine.evaluators.torch_backend import TorchBackend  # noqa: E402
from engine.nets.torch_modules.model import TorchModel  # noqa: E402
from engine.train.learning.device_batch import TrainingError  # noqa: E402
from engine.train.learning.network import TrainableNet, human_spec  # noqa: E402
from engine.train.learning.run_folder import NET_FILE, START_FILE  # noqa: E402
from engine.train.learning.train import train  # noqa: E402
from weights import katago, katago_writer, native  # noqa: E402

PROFILES = ["rank_5k", "rank_9d_20k", "preaz_1d", "proyear_1950"]


def plain(encoder: str = ENCODER, channels: int = 8, *, transformer: bool = False) -> NetSpec:
    scores = (Score.MEAN, Score.STDEV, Score.LEAD)
    kind = ENCODERS[encoder]
    return random_spec(2, channels, kind, 1, transformer=transformer, scores=scores, value=ValueKind.SOFTMAX)


def samples_with_players(count: int = 64) -> Samples:
    rows = [players_of(PROFILES[row % len(PROFILES)], BLACK) for row in range(count)]
    return learnable_samples(count, 1).with_arrays({"players": np.array(rows, np.int16)})


def ranked(seed: int, ranks: str = "BR[5k]WR[3d]DT[2019-01-01]") -> str:
    text = write_game(random_game(seed, SIZE, moves=12), result="B+R").replace("\n", "")
    return text.replace("(;", f"(;{ranks}", 1)


def test_a_network_with_an_encoder_of_players_begins_as_it_was() -> None:
    spec = plain()
    human, rows = human_spec(spec, 1), 2 * len(PROFILES)
    players = np.array([players_of(each, BLACK) for each in PROFILES * 2], np.int16)
    planes, globals_ = torch.rand((rows, spec.planes, SIZE, SIZE)).round(), torch.rand((rows, spec.globals))
    told = torch.cat([globals_, torch.from_numpy(metadata_of(players, SIZE, SIZE))], dim=1)
    with torch.inference_mode():
        for before, after in zip(
            TorchModel(spec).eval()(planes, globals_), TorchModel(human).eval()(planes, told), strict=True
        ):
            torch.testing.assert_close(after, before, atol=0, rtol=0)
    assert human.metadata == METADATA
    assert human_spec(human, 2) is human


def test_a_human_network_does_not_use_the_optimistic_policy() -> None:
    spec = plain()
    assert isinstance(spec.policy, PolicyHead)
    layers = {"conv2": spec.policy.conv2, "pass_linear": spec.policy.pass_linear}
    doubled = {
        "conv2": replace(layers["conv2"], weight=np.repeat(layers["conv2"].weight, 2, axis=0)),
        "pass_linear": replace(
            layers["pass_linear"], weight=np.repeat(layers["pass_linear"].weight, 2, axis=1), bias=np.zeros(2, "f4")
        ),
    }
    hopeful = replace(spec, policy=replace(spec.policy, optimistic=1, **doubled))  # type: ignore[arg-type]
    assert human_spec(hopeful, 1).policy.optimistic == 0


def test_the_gradient_reaches_the_encoder_of_players(tmp_path: Path) -> None:
    start = replace(human_spec(plain(), 1), provenance={WEAKEST_PEOPLE: "12k"})
    source = MadeUpSource(samples=samples_with_players())
    once = train(tiny_config(steps=1), source, tmp_path / "once", start=start)
    assert once.net.provenance[WEAKEST_PEOPLE] == "12k"
    assert "stem.metadata.linear3.weight" in differing(start, once.net)
    # The layers before it follow once the last one is not zero.
    more = train(tiny_config(steps=6), MadeUpSource(samples=samples_with_players()), tmp_path / "more", start=start)
    learned = {path for path in differing(start, more.net) if path.startswith("stem.metadata")}
    assert learned == {path for path, _ in tensors(start) if path.startswith("stem.metadata")}


def test_what_a_network_learns_depends_on_who_plays(tmp_path: Path) -> None:
    samples = samples_with_players(1024)
    # Those who meet 20 kyu play one point in all positions, whatever the planes are.
    weak = samples.players[:, 1] == len(RANKS)
    assert weak.sum() == len(weak) // len(PROFILES)
    policy = samples.policy.copy()
    policy[weak] = 0
    policy[weak, 3] = 1
    told = samples.with_arrays({"policy": policy})
    config = tiny_config(steps=200, batch_size=32, learning_rate=0.01)
    result = train(config, MadeUpSource(32, samples=told), tmp_path, start=human_spec(plain(), 1))
    assert figures_of(tmp_path, "accuracy")[-1] > 0.8
    chances = []
    for profile in ("rank_9d_20k", "rank_5k"):
        players = np.array([players_of(profile, BLACK)] * len(samples), np.int16)
        globals_ = np.concatenate([samples.globals, metadata_of(players, SIZE, SIZE)], axis=1)
        with torch.inference_mode():
            outputs = TorchModel(result.net).eval()(torch.from_numpy(unpacked(samples)), torch.from_numpy(globals_))
        chances.append(float(outputs.policy[:, 0].softmax(1)[:, 3].mean()))
    assert chances[0] > 0.8 > 0.3 > chances[1], chances


@pytest.mark.parametrize("transformer", [False, True])
def test_what_was_trained_is_what_the_engine_reads_and_computes(tmp_path: Path, transformer: bool) -> None:
    texts = [ranked(seed) for seed in range(40)]
    (tmp_path / "games.sgfl").write_text("\n".join(texts) + "\n", encoding="utf-8")
    native.write(plain("katago-v7", 32, transformer=transformer), tmp_path / "plain.safetensors")
    settings = ("human=true", "batch_size=16", "learning_rate=0.01", "warmup=0", "norms=fixed", "ema_decay=0.5")
    run, net = tmp_path / "run", tmp_path / "plain.safetensors"
    arguments = ["run", run, "--net", net, "--records", tmp_path / "games.sgfl", "--steps", 8, "--threads", 1]
    arguments += [each for setting in settings for each in ("--set", setting)]
    result = CliRunner().invoke(command, [str(each) for each in arguments])
    assert result.exit_code == 0, result.output
    start, trained = native.read(run / START_FILE), native.read(run / NET_FILE)
    assert any(path.startswith("stem.metadata") for path in differing(start, trained))

    katago_writer.write(trained, tmp_path / "trained.bin.gz")
    spec = katago.read(tmp_path / "trained.bin.gz")
    game = game_of("C3 B2 D4", SIZE)
    for profile in ("rank_5k_3d", "proyear_1950"):
        planes = np.zeros((1, spec.planes, SIZE, SIZE), np.float32)
        globals_ = np.zeros((1, spec.globals), np.float32)
        ENCODERS["katago-v7"].encode(batch_of([game]), 1, planes, globals_)
        players = np.array([players_of(profile, game.to_play)], np.int16)
        told = np.concatenate([globals_, metadata_of(players, SIZE, SIZE)], axis=1)
        with torch.inference_mode():
            module = TrainableNet(trained).eval()
            logits = module(torch.from_numpy(planes), torch.from_numpy(told)).outputs.policy[0, 0]
        positions = batch_of([game])
        legal = torch.from_numpy(positions.legal[0])
        expected = logits.masked_fill(~legal, -torch.inf).softmax(0).numpy()
        for backend in (NumbaBackend(spec, "fp32", threads=1), TorchBackend(spec, "fp32", "cpu")):
            out = evaluated(HumanProfileEvaluator(NetworkEvaluator(spec, backend), profile), positions)
            np.testing.assert_allclose(np.where(legal, out.policy[0], 0), expected, atol=1e-5)


def test_held_out_games_and_those_without_ranks_are_not_trained_on(tmp_path: Path) -> None:
    texts = [ranked(seed, "" if seed % 3 == 0 else "BR[5k]WR[3d]") for seed in range(200)]
    (tmp_path / "games.sgfl").write_text("\n".join(texts) + "\n", encoding="utf-8")
    usable = {game_hash(each.encode()) for each in texts if "BR[" in each and not is_held_out(each.encode())}
    assert any(is_held_out(each.encode()) for each in texts if "BR[" in each)
    tally = Tally()
    options = RecordOptions(ENCODER, 2, players=True)
    source = RecordSource([tmp_path / "games.sgfl"], 8, [1, 0], options, processes=0, tally=tally)
    seen: set[int] = set()
    while source.state()["epoch"] < 2:
        samples = source.draw().samples
        seen.update(samples.game.tolist())
        kinds = {(14, 7, 1), (7, 14, 1)}
        assert {tuple(each) for each in samples.players.tolist()} <= kinds
    assert seen == usable
    assert tally.skipped[NO_RANKS] > 0


def test_samples_without_players_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="without the players' ranks"):
        train(tiny_config(steps=1), MadeUpSource(), tmp_path, start=human_spec(plain(), 1))


def test_a_resumed_run_of_a_human_network_has_the_same_losses(tmp_path: Path) -> None:
    def source(seed: int = 0) -> MadeUpSource:
        return MadeUpSource(seed=seed, samples=samples_with_players())

    def config(steps: int) -> object:
        return tiny_config(human=True, schedule="constant", steps=steps, checkpoint_every=5)

    whole = train(config(10), source(), tmp_path / "whole")  # type: ignore[arg-type]
    train(config(5), source(), tmp_path / "run")  # type: ignore[arg-type]
    rest = train(config(10), source(99), tmp_path / "run")  # type: ignore[arg-type]
    assert figures_of(tmp_path / "run", "loss") == figures_of(tmp_path / "whole", "loss")
    assert differing(rest.net, whole.net) == set()
    with pytest.raises(TrainingError, match="human"):
        train(tiny_config(schedule="constant", steps=12), source(), tmp_path / "run")
