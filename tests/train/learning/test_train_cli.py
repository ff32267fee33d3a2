"""`keima train` on the command line."""

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from engine.train.cli import train as command
from engine.train.data.samples import write_shard
from tests.train.random_data import ENCODER, figures_of, learnable_samples

torch = pytest.importorskip("torch", reason="torch is not installed")

SHAPE = [argument for setting in ("encoder=" + ENCODER, "blocks=1", "channels=4") for argument in ("--set", setting)]
STEPS = [argument for setting in ("batch_size=8", "log_every=1", "warmup=0") for argument in ("--set", setting)]
SETTINGS = [*SHAPE, *STEPS]
FAST = ["--threads", "1", "--device", "cpu"]


def keima(*arguments: Any) -> Result:
    return CliRunner().invoke(command, [str(each) for each in arguments])


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    folder = tmp_path / "samples"
    for index in range(2):
        (folder / "5x5").mkdir(parents=True, exist_ok=True)
        write_shard(folder / "5x5" / f"shard-{index}.safetensors", learnable_samples(40, index), {})
    return folder


def test_a_run_goes_on_with_the_same_command_and_more_steps(samples: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    first = keima("run", run, "--samples", samples, *SETTINGS, *FAST, "--steps", 3)
    assert (first.exit_code, first.stdout.split(":")[0]) == (0, str(run / "net.safetensors")), first.output
    again = keima("run", run, "--samples", samples, *FAST, "--steps", 5)
    assert again.exit_code == 0, again.output
    assert figures_of(run, "step") == [1, 2, 3, 4, 5]
    recorded = tomllib.loads((run / "config.toml").read_text())
    assert (recorded["channels"], recorded["steps"], recorded["threads"]) == (4, 5, 1)
    assert "step 5/5" in again.stderr


@pytest.mark.parametrize("has_target", [True, False])
def test_a_weight_that_was_set_for_a_target_that_no_sample_has_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, has_target: bool
) -> None:
    samples = learnable_samples(40, 1)
    if has_target:
        later = np.full_like(samples.later, 0.25)
        samples = samples.with_arrays({"later": later, "weights": np.ones_like(samples.weights)})
    (tmp_path / "samples" / "5x5").mkdir(parents=True)
    write_shard(tmp_path / "samples" / "5x5" / "a.safetensors", samples, {})
    weights = ["--set", "short_value_weight=0.7", "--set", "reply_weight=0.2"]
    result = keima("run", tmp_path / "run", "--samples", tmp_path / "samples", *SETTINGS, *weights, *FAST, "--steps", 3)
    assert result.exit_code == 0, result.output
    lacking = "short_value_weight is 0.7, but no sample so far has its target (self-play records it with records_later)"
    assert caplog.messages == ([] if has_target else [lacking])


def test_several_folders_are_drawn_from_by_their_losses(samples: Path, tmp_path: Path) -> None:
    (tmp_path / "more" / "7x7").mkdir(parents=True)
    write_shard(tmp_path / "more" / "7x7" / "a.safetensors", learnable_samples(40, 5, size=7), {})
    folders = ["--samples", samples, "--samples", tmp_path / "more", "--prioritize", "0.6"]
    result = keima("run", tmp_path / "run", *folders, *SETTINGS, *FAST, "--steps", 6)
    assert result.exit_code == 0, result.output
    assert figures_of(tmp_path / "run", "samples")[-1] == 48


def test_heads_are_trained_on_a_network_of_another_format(samples: Path, tmp_path: Path) -> None:
    from engine.train.learning.network import default_spec
    from tests.train.random_data import differing
    from weights import native

    start = default_spec(1, 4, encoder=ENCODER)
    native.write(start, tmp_path / "start.safetensors")
    arguments = ["--net", tmp_path / "start.safetensors", "--freeze", "trunk", "--steps", 2]
    result = keima("run", tmp_path / "run", "--samples", samples, *arguments, *STEPS, *FAST)
    assert result.exit_code == 0, result.output
    changed = differing(start, native.read(tmp_path / "run" / "net.safetensors"))
    assert {path.split(".")[0] for path in changed} == {"policy", "value"}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "give either --records or --samples"),
        (["--samples", "nowhere", "--set", "blcks=3"], "unknown key blcks"),
        (["--samples", "nowhere", "--set", "blocks=many"], "blocks: expected an integer, 1 or more, got 'many'"),
        (["--samples", "nowhere"], "nowhere: no such folder"),
        (["--samples", "nowhere", "--net", "absent.bin.gz"], "absent.bin.gz: cannot be read"),
        (["--samples", "nowhere", "--set", "architecture=agz"], "agz supports only one board size"),
        (["--samples", "nowhere", "--net", "a.bin.gz", "--set", "blocks=3"], "--set blocks: the network of --net has"),
        (["--samples", "nowhere", "--config", "LATIN"], "no text in UTF-8"),
        (["--records", __file__, "--prioritize", "0.5"], "--prioritize draws from --samples"),
    ],
)
def test_what_cannot_be_done_is_one_line(tmp_path: Path, arguments: list[str], text: str) -> None:
    (tmp_path / "LATIN").write_bytes("# größer\nsteps = 3\n".encode("latin-1"))
    named = [str(tmp_path / each) if each == "LATIN" else each for each in arguments]
    result = keima("run", tmp_path / "run", *named)
    assert result.exit_code != 0
    assert text in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "run").exists()


def test_a_refused_setting_leaves_the_configuration_as_it_was(samples: Path, tmp_path: Path) -> None:
    run, sgd = tmp_path / "run", ["--set", "optimizer=sgd"]
    first = keima("run", run, "--samples", samples, *SETTINGS, *sgd, *FAST, "--steps", 2)
    assert first.exit_code == 0, first.output
    begun = (run / "config.toml").read_text()
    again = keima("run", run, "--samples", samples, *FAST, "--steps", 4, "--set", "momentum=0.0")
    assert "momentum: expected 0.9, with which the run started, got 0.0" in " ".join(again.stderr.split())
    assert (run / "config.toml").read_text() == begun
    (run / "checkpoints" / "step-00000002" / "optimizer.safetensors").unlink()
    assert keima("run", run, "--samples", samples, *FAST, "--steps", 4).exit_code == 1
    assert (run / "config.toml").read_text() == begun


def test_a_command_that_found_no_data_binds_no_later_one(samples: Path, tmp_path: Path) -> None:
    run, empty = tmp_path / "run", tmp_path / "empty.sgfl"
    empty.write_text("(;SZ[5])")
    failed = keima("run", run, "--records", empty, *SETTINGS, *FAST, "--steps", 2, "--set", "seed=7")
    assert (failed.exit_code, (run / "config.toml").exists()) == (1, True)
    assert f"no position to train on in {empty}: " in failed.stderr and "{" not in failed.stderr
    result = keima("run", run, "--samples", samples, *SETTINGS, *FAST, "--steps", 2, "--set", "seed=8")
    assert result.exit_code == 0, result.output
    assert tomllib.loads((run / "config.toml").read_text())["seed"] == 8


def test_a_random_trunk_is_not_frozen(samples: Path, tmp_path: Path) -> None:
    command = ("run", tmp_path / "run", "--samples", samples, *SETTINGS, *FAST, "--steps", 1)
    for words in (("--freeze", "trunk"), ("--set", "freeze=trunk")):
        result = keima(*command, *words)
        assert result.exit_code == 2
        assert "--freeze trunk needs --net" in result.stderr
    assert not (tmp_path / "run").exists()


def test_a_run_whose_hours_are_over_takes_no_further_step(samples: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    command = ("run", run, "--samples", samples, *SETTINGS, *FAST, "--steps", 50, "--hours", 1e-9)
    assert keima(*command).exit_code == 0
    steps = figures_of(run, "step")
    for _ in range(2):
        assert keima(*command).exit_code == 0
    assert (figures_of(run, "step"), len(steps)) == (steps, 1)


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (', "against_random": 0.5', "dqn holds a run of keima train dqn; use another folder"),
        ("", "dqn/metrics.jsonl:1: expected metrics of keima train run, with a step, got ['games', 'steps']"),
    ],
)
def test_a_folder_of_another_kind_of_run_is_left_alone(samples: Path, tmp_path: Path, more: str, reason: str) -> None:
    run = tmp_path / "dqn"
    run.mkdir()
    (run / "metrics.jsonl").write_text(f'{{"games": 250, "steps": 30{more}}}\n')
    result = keima("run", run, "--samples", samples, *SETTINGS, *FAST, "--steps", 2)
    assert reason in " ".join(result.stderr.split())
    assert {path.name for path in run.iterdir()} <= {"metrics.jsonl", ".lock"}


@pytest.mark.parametrize(("rank", "is_shown"), [("0", True), ("1", False)])
def test_only_the_first_process_shows_progress(
    samples: Path, tmp_path: Path, rank: str, is_shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", rank)
    result = keima("run", tmp_path / "run", "--samples", samples, *SETTINGS, *FAST, "--steps", 1)
    assert ("step 1/1" in result.stderr) == is_shown


def test_a_configuration_file_is_named_in_its_errors(samples: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("learning_rte = 1.0\n")
    result = keima("run", tmp_path / "run", "--samples", samples, "--config", path)
    assert f"{path}: unknown key learning_rte" in " ".join(result.stderr.split())


def test_a_run_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "loss": 2.0}\n{"step": 2, "loss": 1.0}\n')
    result = keima("plot", tmp_path)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "metrics.png").read_bytes().startswith(b"\x89PNG")


def test_the_speed_of_training_is_a_share_of_the_limit() -> None:
    settings = ["--size", 5, "--batch", 4, "--batch", 8, "--runs", 1, "--seconds", "0.01", "--json"]
    result = keima("bench", *settings, *SHAPE, *FAST)
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)["figures"]
    assert [(row["batch"], row["precision"]) for row in rows] == [(4, "fp32"), (4, "bf16"), (8, "fp32"), (8, "bf16")]
    for row in rows:
        assert row["share"] == pytest.approx(row["samples_per_s"] / row["limit_samples_per_s"], rel=0.01)
        assert 0 < row["share"] < 1
    table = keima("bench", "--size", 5, "--precision", "fp32", "--runs", 1, "--seconds", "0.01", *SHAPE, *FAST)
    assert "samples/s" in table.stdout


def test_the_speed_of_networks_that_imitate_people_is_measured() -> None:
    asked = ["--size", 5, "--precision", "fp32", "--runs", 1, "--seconds", "0.01", "--set", "human=true", "--json"]
    result = keima("bench", *asked, *SHAPE, *FAST)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["figures"][0]["samples_per_s"] > 0


def test_norms_stay_what_they_were_when_a_run_goes_on(samples: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert keima("run", run, "--samples", samples, *SETTINGS, *FAST, "--steps", 1).exit_code == 0
    again = keima("run", run, "--samples", samples, *FAST, "--steps", 2, "--set", "norms=fixed")
    assert again.exit_code == 1
    assert "norms: expected auto, with which the run started, got fixed" in " ".join(again.stderr.split())


@pytest.mark.parametrize("setting", ["precision=fp32", "batch_size=8"])
def test_what_the_speed_is_measured_at_is_no_setting(setting: str) -> None:
    assert f"--set {setting.split('=')[0]}: say --" in " ".join(keima("bench", "--set", setting).stderr.split())


def test_a_sample_costs_three_evaluations() -> None:
    from engine.nets.summary import multiply_adds
    from engine.train.learning.bench import Case, bench
    from engine.train.learning.network import default_spec
    from tests.train.random_data import tiny_config

    spec = default_spec(1, 4, encoder=ENCODER)
    figures = bench(spec, [Case((5, 5), 4, "fp32")], tiny_config(), 1, 0.01)
    expected = 6 * multiply_adds(spec, 5, 5) / 1e9
    np.testing.assert_allclose(figures["figures"][0]["gflop"], expected, rtol=1e-3)
