"""The session on a lent machine: what is measured again, which speed counts, what is brought back."""

import json
import subprocess
import sys
import tarfile
import threading
from pathlib import Path

import pytest

from tests.gpu_session import RESULTS, STATE, Session, Stage, fastest, measure, pack, stages, unpack, zero_words

VERSION = Stage("version", ["--version"], 0.5)


def session(out: Path, device: str = "a GPU", seconds: float = 600.0) -> Session:
    return Session(out, seconds, device, threading.Event())


def journal(out: Path) -> list[tuple[str, str, int]]:
    lines = map(json.loads, (out / "session.jsonl").read_text().splitlines())
    return [(line["stage"], line["device"], line["exit"]) for line in lines]


def test_a_measurement_is_made_once_a_device(tmp_path: Path) -> None:
    for device in ("a GPU", "a GPU", "another", "a GPU"):
        measure(session(tmp_path, device), [VERSION])
    assert journal(tmp_path) == [("version", "a GPU", 0), ("version", "another", 0)]
    assert (tmp_path / "version.txt").read_text().startswith("keima")


def test_a_measurement_that_fails_is_made_again_and_leaves_nothing(tmp_path: Path) -> None:
    wrong = Stage("wrong", ["bench", "--no-such-option"], 0.5)
    for _ in range(2):
        measure(session(tmp_path), [wrong])
    assert journal(tmp_path) == [("wrong", "a GPU", 2)] * 2
    assert not (tmp_path / "wrong.txt").exists()
    assert "no-such-option" in (tmp_path / "logs" / "wrong.txt").read_text()


def test_nothing_is_measured_when_its_time_is_over(tmp_path: Path) -> None:
    measure(session(tmp_path, seconds=0.0), [VERSION])
    assert not (tmp_path / "session.jsonl").exists()


def test_what_takes_too_long_is_interrupted(tmp_path: Path) -> None:
    server = ["analysis", "--listen", "127.0.0.1:0", "--net", "none"]
    session(tmp_path).perform("serve", server, 1.0)
    assert [line[0] for line in journal(tmp_path)] == ["serve"]
    assert session(tmp_path).perform("serve", server, 1.0, tmp_path / "serve.txt") != 0
    assert not (tmp_path / "serve.txt").exists()


def test_the_fastest_number_of_processes_plays(tmp_path: Path) -> None:
    assert fastest(tmp_path, 16) == 16
    for count, rate in ((1, 900.0), (8, 2500.0), (16, 2400.0)):
        (tmp_path / f"selfplay-{count}.json").write_text(json.dumps({"evaluations_per_s": rate}))
    assert fastest(tmp_path, 16) == 8


def test_the_shares_of_the_measurements_make_a_whole(tmp_path: Path) -> None:
    for cores in (1, 2, 16):
        assert sum(stage.share for stage in stages("cuda", 9, cores, tmp_path)) == pytest.approx(1.0)


def test_a_run_is_begun_with_the_preset_and_continued_for_the_rest_of_the_time(tmp_path: Path) -> None:
    options = {"preset": "9x9-gpu", "device": "cuda", "settings": ["run.reuse=3"]}
    words = " ".join(zero_words(tmp_path, options, 8, 1800.0))
    assert "--preset 9x9-gpu --hours 0.50000 --set evaluator.processes=8 --set train.device=cuda" in words
    assert words.endswith("--set evaluator.backend=torch --set run.reuse=3")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.toml").touch()
    (tmp_path / "run" / "clock.json").write_text('{"selfplay": 3600}')
    words = " ".join(zero_words(tmp_path, options, 8, 1800.0))
    assert "--hours 1.50000" in words
    assert "--preset" not in words


def test_results_are_small_and_the_state_continues_the_run(tmp_path: Path) -> None:
    out, later = tmp_path / "out", tmp_path / "later"
    files = ["session.jsonl", "bench.json", "logs/zero.txt", "selfplay-2/games.sgfl", "run/report.md"]
    files += ["run/nets/gen-0001.safetensors", "run/nets/gen-0002.safetensors", "run/train/metrics.jsonl"]
    files += ["run/samples/gen-0001/games.sgfl", "run/train/checkpoints/step-1/state.json"]
    for name in files:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(name)
    for _ in range(2):  # the second time, there are the archives of the first one
        pack(out, 1.0)
    with tarfile.open(out / RESULTS) as archive:
        brought = {"session.jsonl", "bench.json", "logs/zero.txt", "run/report.md", "run/train/metrics.jsonl"}
        assert {*archive.getnames()} == brought | {"run/nets/gen-0002.safetensors"}
    later.mkdir()
    for name in (RESULTS, STATE):
        (later / name).write_bytes((out / name).read_bytes())
    unpack(later)
    assert all((later / name).read_text() == name for name in files if not name.startswith("selfplay"))


def test_a_state_above_the_limit_is_not_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "large").write_bytes(bytes(2**20))
    pack(tmp_path, 0.5)
    assert not (tmp_path / STATE).exists()
    assert "run has 1 MiB" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_session_on_the_cpu_measures_learns_and_is_continued(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    out = tmp_path / "out"
    command = [sys.executable, "-m", "tests.gpu_session", str(out), "--device", "cpu", "--preset", "tiny"]
    command += ["--size", "5", "--minutes", "3", "--set", "run.generations=1000"]
    for _ in range(2):
        subprocess.run(command, check=True)
    done = journal(out)
    assert len([each for each in done if each[0] == "zero"]) == 2
    assert {each[0] for each in done if each[2] == 0} >= {"check", "selfplay-1", "zero"}
    assert len([each for each in done if each[0] == "check"]) == 1
    with tarfile.open(out / RESULTS) as archive:
        assert {"machine.json", "run/report.md", "run/steps.jsonl"} <= set(archive.getnames())
