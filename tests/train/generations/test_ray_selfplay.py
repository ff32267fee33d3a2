"""Games of workers: how they are sent, how they come into a generation, and a whole run on a real cluster."""

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from engine.encoders import ENCODERS
from engine.errors import GoError
from engine.evaluators.factory import Computing, make_evaluator
from engine.evaluators.network import NetworkEvaluator
from engine.nets.random import random_spec
from engine.nets.spec import NetSpec
from engine.support.files import whole_lines
from engine.train.data.samples import read_shard, shard_info, write_shard
from engine.train.games.selfplay import decisive_settings
from engine.train.games.selfplay_settings import SelfplaySettings
from engine.train.generations import ray_selfplay
from engine.train.generations.ray_selfplay import Intake, MakeSelfplay, Outbox, SelfplayPlaying
from engine.train.generations.zero_config import EvaluatorSettings
from engine.train.generations.zero_state import read_steps
from tests.train.generations.zero_runs import PATIENCE, start
from weights import native
from weights.sized import packed, read_sized, write_sized

SETTINGS = SelfplaySettings(
    sizes=(5,), games_at_once=4, full_visits=4, quick_visits=2, full_share=0.5, komi=0.5, shard_samples=64
)
EVALUATOR = EvaluatorSettings(precision="fp32", threads=1)


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """Let a worker's play go on until it has finished some games, changing networks on the way; return them."""
    folder = tmp_path_factory.mktemp("worker")
    native.write(random_spec(1, 8, ENCODERS["katago-v7"], 1), folder / "net")
    network = packed(folder / "net")
    playing = MakeSelfplay(SETTINGS, EVALUATOR)(1)
    playing.set_network(network, 0)
    stop = threading.Event()
    thread = threading.Thread(target=playing.play, args=(folder, stop))
    thread.start()
    sent = _sent(playing, folder, thread)
    playing.set_network(network, 1)
    # A long game may go on while short ones begin and end.
    while not any(b"ended with" in content for content in sent) and len(sent) < 100:
        sent += _sent(playing, folder, thread)
    stop.set()
    thread.join()
    return sent


def _sent(playing: SelfplayPlaying, folder: Path, thread: threading.Thread) -> list[bytes]:
    """Return the next games that are finished."""
    sent: list[bytes] = []
    while not sent:
        assert thread.is_alive()
        for content, path in playing.finished(folder):
            sent.append(content)
            path.unlink()
        time.sleep(0.05)
    return sent


def intake(folder: Path) -> Intake:
    (folder / "spool").mkdir(exist_ok=True)
    return Intake(folder / "spool", folder / "gen", decisive_settings(SETTINGS, 7), SETTINGS.shard_samples)


def test_games_of_workers_become_those_of_a_generation(tmp_path: Path, sent: list[bytes]) -> None:
    one = intake(tmp_path)
    for number, content in enumerate(sent):
        (tmp_path / "spool" / f"worker-{number:03d}").write_bytes(content)
    assert one.take(2) == 2
    one = intake(tmp_path)  # as after a kill
    assert one.games == 2
    assert one.take(1000) == len(sent) - 2
    one.finish()
    records = whole_lines(tmp_path / "gen" / "games.sgfl")
    assert len(records) == len(sent)
    assert all(f"RO[{number}]" in record for number, record in enumerate(records))
    shards = [read_shard(path) for path in (tmp_path / "gen").glob("5x5/*.safetensors")]
    games = {int(game) for shard in shards for game in shard.game}
    assert len(games) == sum(shard_info_of(content, tmp_path) > 0 for content in sent)
    assert list((tmp_path / "spool").iterdir()) == []


def test_a_game_tells_with_which_network_it_began(tmp_path: Path, sent: list[bytes]) -> None:
    for content in sent:
        origin = shard_info(_written(tmp_path / "letter", content)).provenance
        assert origin["generation"] in ("0000", "0001")
        name = f"gen-{origin['generation']}"
        assert f"PB[{name}]" in origin["record"]
        assert f"network {name}" in origin["record"]
    first = shard_info(_written(tmp_path / "letter", sent[0])).provenance
    assert (first["generation"], "ended with" in first["record"]) == ("0000", False)
    assert any(
        "ended with network gen-0001" in shard_info(_written(tmp_path / "x", each)).provenance["record"]
        for each in sent
    )


def test_games_come_in_by_their_arrival_and_old_ones_are_left_out(tmp_path: Path, sent: list[bytes]) -> None:
    one = intake(tmp_path)
    samples = read_shard(_written(tmp_path / "letter", sent[0]))
    for arrival, (name, generation) in enumerate([("c", 4), ("a", 1), ("b", 3), ("e", 2), ("d", 4)]):
        path = tmp_path / "spool" / name
        write_shard(path, samples[:1], {"record": f"(;RO[0]C[{name}])", "generation": str(generation)})
        os.utime(path, (arrival, arrival))
    assert one.take(2, oldest=2) == 2
    assert one.take(9, oldest=3) == 1
    assert (one.games, one.stale, dict(one.generations)) == (3, 2, {4: 2, 3: 1})
    assert [record[7:11] for record in whole_lines(tmp_path / "gen" / "games.sgfl")] == ["C[c]", "C[b]", "C[d]"]
    assert list((tmp_path / "spool").iterdir()) == []


def test_a_worker_computes_each_size_with_its_own_statistics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec, sizes = random_spec(1, 8, ENCODERS["katago-v7"], 1), set[tuple[int, int]]()
    native.write(spec, tmp_path / "net")
    write_sized(tmp_path / "net", spec.name, {(5, 5): spec, (7, 5): spec})

    def note_sizes(spec: NetSpec, computing: Computing, file: Path | None = None) -> NetworkEvaluator:
        assert file is not None
        sizes.update(read_sized(file, spec.name))
        return make_evaluator(spec, computing, file)

    monkeypatch.setattr(ray_selfplay, "make_evaluator", note_sizes)
    playing = MakeSelfplay(SETTINGS, EVALUATOR)(1)
    playing.set_network(packed(tmp_path / "net"), 0)
    assert sizes == {(5, 5), (7, 5)}


def test_a_paused_worker_stops_and_goes_on(tmp_path: Path) -> None:
    native.write(random_spec(1, 8, ENCODERS["katago-v7"], 1), tmp_path / "net")
    playing = MakeSelfplay(SETTINGS, EVALUATOR)(1)
    playing.set_network(packed(tmp_path / "net"), 0)
    stop = threading.Event()
    thread = threading.Thread(target=playing.play, args=(tmp_path, stop))
    thread.start()
    _sent(playing, tmp_path, thread)
    playing.pause(True)
    time.sleep(0.5)
    for _, path in playing.finished(tmp_path):
        path.unlink()
    time.sleep(0.5)
    assert list(playing.finished(tmp_path)) == []
    playing.pause(False)
    assert _sent(playing, tmp_path, thread)
    stop.set()
    thread.join()


def shard_info_of(content: bytes, folder: Path) -> int:
    path = folder / "letter.safetensors"
    path.write_bytes(content)
    return shard_info(path).count


def test_a_finished_game_is_sent_though_an_earlier_one_goes_on(tmp_path: Path, sent: list[bytes]) -> None:
    outbox, playing = Outbox(tmp_path), MakeSelfplay(SETTINGS, EVALUATOR)(1)
    samples = read_shard(_written(tmp_path / "letter", sent[0]))
    (tmp_path / "letter").unlink()
    outbox.add(7, samples, "(;RO[7]C[network gen-0003])")  # games 0 to 6 go on
    ((content, _),) = playing.finished(tmp_path)
    origin = shard_info(_written(tmp_path / "letter", content)).provenance
    assert origin == {"record": "(;RO[7]C[network gen-0003])", "generation": "0003"}


def test_a_worker_keeps_nothing_of_a_game_that_is_sent_or_has_no_samples(tmp_path: Path, sent: list[bytes]) -> None:
    outbox, playing = Outbox(tmp_path / "box"), MakeSelfplay(SETTINGS, EVALUATOR)(1)
    (tmp_path / "box").mkdir()
    samples = read_shard(_written(tmp_path / "letter", sent[0]))
    for number in range(3):
        outbox.add(number, samples[:0] if number == 1 else samples, f"(;RO[{number}])")
    for _, path in playing.finished(tmp_path / "box"):
        path.unlink()
    assert outbox.samples == 2 * len(samples)
    assert list((tmp_path / "box").iterdir()) == []


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_a_game_that_was_numbered_when_the_run_was_killed_is_taken_in_once(tmp_path: Path, sent: list[bytes]) -> None:
    intake(tmp_path)
    inbox = tmp_path / "gen" / "inbox" / "000000.safetensors"
    for _ in range(2):  # killed before the store had it, and killed before the inbox was emptied
        inbox.write_bytes(sent[0])
        assert intake(tmp_path).games == 1
        assert not inbox.exists()
    assert len(whole_lines(tmp_path / "gen" / "games.sgfl")) == 1


def test_what_is_no_game_is_named(tmp_path: Path, sent: list[bytes]) -> None:
    one = intake(tmp_path)
    path = tmp_path / "spool" / "stray"
    path.write_bytes(sent[0])
    write_shard(path, read_shard(path)[:0], {})
    with pytest.raises(GoError, match=r"000000\.safetensors: record: missing"):
        one.take(1)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore")
def test_a_run_on_a_cluster_is_complete_though_a_node_is_killed(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    pytest.importorskip("torch")
    from tests.train.generations.ray_cluster import cluster

    def came(count: int) -> bool:
        records = tmp_path / "samples" / "gen-0001" / "games.sgfl"
        return records.exists() and len(records.read_text().splitlines()) >= count

    def wait(process: Any, count: int) -> None:
        while not came(count):
            assert process.poll() is None, process.stderr.read().decode()
            time.sleep(0.1)

    settings = ("run.first_games=60", "gate.games=0", "rating.every=0")
    with cluster(2) as nodes:
        process = start(tmp_path, 1, *settings, ray=nodes.address)
        try:
            wait(process, 5)
            nodes.remove_node(nodes.computers[0], allow_graceful=False)
            _, errors = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert process.returncode == 0, errors.decode()
    records = (tmp_path / "samples" / "gen-0001" / "games.sgfl").read_text().splitlines()
    assert len(set(records)) == 60
    (play, *_) = read_steps(tmp_path / "steps.jsonl")
    assert (play["step"], play["games"]) == ("selfplay", 60)
    assert (tmp_path / "nets" / "gen-0001.safetensors").exists()
