"""The training loop: it learns, it goes on as if it had never stopped, and it freezes what it shall."""

import json
import threading
from pathlib import Path

import numpy as np
import pytest

from engine.nets.spec import NetSpec, Score, tensors
from engine.records.sgf_writer import write_game
from engine.train.data.batches import WindowSource
from engine.train.data.record_source import RecordSource
from engine.train.data.records import RecordOptions
from engine.train.data.replay import Window
from engine.train.data.samples import write_shard
from tests.nets.examples import stirred
from tests.positions import random_game
from tests.train.random_data import ENCODER, SIZE, MadeUpSource, differing, figures_of, learnable_samples, tiny_config

torch = pytest.importorskip("torch", reason="torch is not installed")

from engine.train.learning.device_batch import TrainingError  # noqa: E402
from engine.train.learning.network import agz_spec, default_spec  # noqa: E402
from engine.train.learning.run_folder import NET_FILE, START_FILE  # noqa: E402
from engine.train.learning.train import Progress, train  # noqa: E402
from weights import native  # noqa: E402


def test_it_learns_what_the_samples_show(tmp_path: Path) -> None:
    config = tiny_config(steps=100, batch_size=32, learning_rate=0.01, log_every=10, checkpoint_every=100)
    result = train(config, MadeUpSource(32), tmp_path)
    accuracy, losses = figures_of(tmp_path, "accuracy"), figures_of(tmp_path, "loss")
    assert accuracy[-1] > 0.8 > 0.4 > accuracy[0]
    assert losses[-1] < 0.5 * losses[0]
    assert figures_of(tmp_path, "explained_variance")[-1] > 0.3
    assert result.finished
    assert differing(result.net, native.read(tmp_path / NET_FILE)) == set()
    assert result.net.provenance["steps"] == "100"


def test_steps_show_before_the_first_line_of_metrics(tmp_path: Path) -> None:
    shown: list[Progress] = []
    train(tiny_config(steps=9, log_every=4, checkpoint_every=100), MadeUpSource(), tmp_path, report=shown.append)
    assert [each.step for each in shown] == [1, 2, 3, 4, 8, 9]
    assert (
        [bool(each.figures) for each in shown]
        == [each.seconds_left is not None for each in shown]
        == [False] * 3 + [True] * 3
    )
    assert shown[0].text == "step 1 of 9"
    assert shown[3].text == f"step 4 of 9, loss {shown[3].figures['loss']:.4f}"


def test_a_resumed_run_has_the_same_losses_bit_for_bit(tmp_path: Path) -> None:
    whole = train(tiny_config(), MadeUpSource(), tmp_path / "whole")
    stop = threading.Event()
    config, run = tiny_config(checkpoint_every=1000), tmp_path / "resumed"

    def halfway(progress: Progress) -> None:
        if progress.step == 9:
            stop.set()

    part = train(config, MadeUpSource(), run, report=halfway, stop=stop)
    assert (part.step, part.finished) == (10, False)
    rest = train(config, MadeUpSource(seed=99), run)
    assert figures_of(run, "loss") == figures_of(tmp_path / "whole", "loss")
    assert len(figures_of(run, "loss")) == 20
    assert differing(rest.net, whole.net) == set()


def test_a_resumed_run_on_game_records_draws_the_same_batches(tmp_path: Path) -> None:
    games = "\n".join(write_game(random_game(seed, SIZE, moves=12)).replace("\n", "") for seed in range(40))
    (tmp_path / "games.sgfl").write_text(games + "\n", encoding="utf-8")

    def source() -> RecordSource:
        return RecordSource([tmp_path / "games.sgfl"], 8, [1, 0], RecordOptions(ENCODER, 4), processes=0)

    whole = train(tiny_config(), source(), tmp_path / "whole")
    stop, run = threading.Event(), tmp_path / "resumed"

    def halfway(progress: Progress) -> None:
        if progress.step == 9:
            stop.set()

    assert train(tiny_config(checkpoint_every=1000), source(), run, report=halfway, stop=stop).step == 10
    rest = train(tiny_config(checkpoint_every=1000), source(), run)
    assert figures_of(run, "loss") == figures_of(tmp_path / "whole", "loss")
    assert differing(rest.net, whole.net) == set()


def test_lines_after_the_last_checkpoint_are_written_anew(tmp_path: Path) -> None:
    train(tiny_config(steps=10), MadeUpSource(), tmp_path)
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write(json.dumps({"step": 11, "loss": 99.0}) + '\n{"step": 12, "lo')
    train(tiny_config(steps=12), MadeUpSource(), tmp_path)
    assert figures_of(tmp_path, "step") == list(range(1, 13))
    assert 99.0 not in figures_of(tmp_path, "loss")


def test_a_frozen_trunk_does_not_change_by_a_bit(tmp_path: Path) -> None:
    start = stirred(default_spec(2, 8, encoder=ENCODER), np.random.default_rng(1))
    result = train(tiny_config(freeze="trunk", steps=5), MadeUpSource(), tmp_path, start=start)
    changed = differing(start, result.net)
    assert changed == {path for path, _ in tensors(start) if path.startswith(("policy.", "value."))}


def test_outputs_that_have_no_target_stay_as_they_are(tmp_path: Path) -> None:
    from engine.encoders import ENCODERS
    from engine.nets.random import random_spec

    scores = (Score.MEAN, Score.STDEV, Score.LEAD, Score.VARIANCE_TIME, Score.UNUSED)
    start = random_spec(1, 8, ENCODERS[ENCODER], 1, scores=scores, head_channels=4)
    result = train(tiny_config(steps=4, weight_decay=0.5), MadeUpSource(), tmp_path, start=start)
    before, after = (dict(tensors(each))["value.score.weight"] for each in (start, result.net))
    np.testing.assert_array_equal(after[:, 3:], before[:, 3:])
    assert (after[:, :3] != before[:, :3]).any(axis=0).all()


@pytest.mark.parametrize(
    "start",
    [
        agz_spec(1, 8, 1, ENCODER, 5),
        default_spec(1, 8, encoder=ENCODER),
        default_spec(1, 8, encoder=ENCODER, transformer=True),
    ],
)
@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_every_architecture_learns_with_every_optimizer(tmp_path: Path, start: NetSpec, optimizer: str) -> None:
    config = tiny_config(steps=4, optimizer=optimizer, checkpoint_every=2)
    result = train(config, MadeUpSource(), tmp_path, start=start)
    assert len(differing(start, result.net)) == len(list(tensors(start)))
    longer = tiny_config(steps=6, optimizer=optimizer)
    again = [train(longer, MadeUpSource(), tmp_path, start=start) for _ in range(2)]
    assert [each.step for each in again] == [6, 6]
    assert differing(again[0].net, again[1].net) == set()


def test_bfloat16_learns_nearly_the_same(tmp_path: Path) -> None:
    for precision in ("fp32", "bf16"):
        train(tiny_config(precision=precision, steps=15), MadeUpSource(), tmp_path / precision)
    exact, rounded = (figures_of(tmp_path / each, "loss") for each in ("fp32", "bf16"))
    assert exact != rounded
    np.testing.assert_allclose(rounded, exact, rtol=0.1)


def test_the_source_is_told_the_loss_of_every_sample(tmp_path: Path) -> None:
    source = MadeUpSource()
    train(tiny_config(steps=3), source, tmp_path)
    assert len(source.losses) == 3
    assert all(len(indices) == len(losses) == 8 and (losses > 0).all() for indices, losses in source.losses)


def test_the_source_is_told_the_progress_from_its_first_batch_on(tmp_path: Path) -> None:
    train(tiny_config(steps=4), MadeUpSource(), tmp_path)
    source = MadeUpSource()
    train(tiny_config(steps=8), source, tmp_path)
    assert source.progress[:2] == [0.5, 0.5], "before any batch is drawn, and before the first step"
    assert source.progress[-1] == 7 / 8


def test_a_resumed_run_knows_the_losses_of_its_samples(tmp_path: Path) -> None:
    (tmp_path / "5x5").mkdir()
    write_shard(tmp_path / "5x5" / "1.safetensors", learnable_samples(64, 1), {})

    def source() -> WindowSource:
        return WindowSource(Window(tmp_path, prioritize=1.0), 8, 1)

    first, run = source(), tmp_path / "run"
    train(tiny_config(steps=5), first, run)
    learned = first.priorities()["5x5/1.safetensors"]
    assert len(np.unique(learned)) > 5, "all five batches have been reported"
    again = source()
    train(tiny_config(steps=5), again, run)
    np.testing.assert_array_equal(again.priorities()["5x5/1.safetensors"], learned)


def test_the_kl_schedule_changes_the_learning_rate(tmp_path: Path) -> None:
    config = tiny_config(schedule="kl", kl_every=1, kl_target=1e-6, warmup=0, steps=5, learning_rate=0.01)
    train(config, MadeUpSource(), tmp_path)
    rates = figures_of(tmp_path, "learning_rate")
    np.testing.assert_allclose(rates, [0.01 / 1.5**step for step in range(5)], rtol=1e-4)


def test_training_ends_where_the_data_end(tmp_path: Path) -> None:
    batches = [(learnable_samples(8, seed), None, None) for seed in range(3)]
    result = train(tiny_config(), iter(batches), tmp_path)
    assert (result.step, result.finished) == (3, False)
    assert (tmp_path / NET_FILE).exists()


@pytest.mark.parametrize(
    ("samples", "text"),
    [
        (learnable_samples(8, 1, "oneplane"), "samples of encoder oneplane, but keima-b2c8 reads liberties"),
        (learnable_samples(8, 1, size=7), "samples of a 7x7 board, but keima-b2c8 supports sides from 5 to 6"),
    ],
)
def test_samples_that_do_not_fit_are_refused(tmp_path: Path, samples: object, text: str) -> None:
    with pytest.raises(TrainingError, match=text):
        train(tiny_config(board_sizes=(5, 6)), iter([(samples, None, None)]), tmp_path)


def test_an_error_of_the_source_is_raised_where_its_batch_was_due(tmp_path: Path) -> None:
    def batches():  # type: ignore[no-untyped-def]
        yield learnable_samples(8, 1), None, None
        raise ZeroDivisionError("no shard")

    with pytest.raises(ZeroDivisionError, match="no shard"):
        train(tiny_config(), batches(), tmp_path)


def test_a_run_goes_on_only_with_what_it_began_with(tmp_path: Path) -> None:
    train(tiny_config(steps=2), MadeUpSource(), tmp_path)
    with pytest.raises(TrainingError, match="blocks: expected 2, with which the run started, got 3"):
        train(tiny_config(steps=4, blocks=3), MadeUpSource(), tmp_path)
    other = default_spec(2, 8, 7, encoder=ENCODER)
    with pytest.raises(TrainingError, match="is another one"):
        train(tiny_config(steps=4), MadeUpSource(), tmp_path, start=other)
    assert train(tiny_config(steps=4), MadeUpSource(), tmp_path, start=native.read(tmp_path / START_FILE)).step == 4


def test_a_run_that_diverges_stops_and_keeps_its_last_checkpoint(tmp_path: Path) -> None:
    train(tiny_config(steps=2), MadeUpSource(), tmp_path)
    kept = native.read(tmp_path / NET_FILE)
    samples = learnable_samples(64, 1)
    broken = samples.with_arrays({"score": np.full(64, np.inf, np.float32)})
    with pytest.raises(TrainingError, match="not finite"):
        train(tiny_config(steps=20), MadeUpSource(samples=broken), tmp_path)
    assert differing(native.read(tmp_path / NET_FILE), kept) == set()
