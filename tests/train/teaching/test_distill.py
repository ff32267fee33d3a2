"""Labels of records: what goes into samples, what is left out, and a run that goes on where it was killed."""

import json
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.color import BLACK
from engine.encoders import ENCODERS
from engine.encoders.game_positions import write_position
from engine.errors import GoError
from engine.evaluation.positions import PositionBatch
from engine.evaluators.rollout import RolloutEvaluator
from engine.evaluators.uniform import UniformEvaluator
from engine.game import Game
from engine.records.sgf import Record
from engine.rules import CHINESE, TROMP_TAYLOR
from engine.search.move_choice import move_table
from engine.search.params import ROLLOUT_PARAMS, SearchParams
from engine.search.search import Search
from engine.search.stoppers import VisitStopper
from engine.search.tree import ROOT
from engine.train.data.samples import Samples, packed, read_shard, shard_info
from engine.train.data.targets import OWNERSHIP_SCALE, FinalResult, one_hot
from engine.train.teaching.distill import Chunk, Distiller, DistillSettings, Progress, SourceGame
from engine.train.teaching.labelling import GameReader, Mixture, Position, SampleMaker, batches, teacher_batch
from engine.train.teaching.teacher import (
    OUTCOME,
    OWNERSHIP,
    POLICY,
    SCORE,
    Labels,
    NetworkTeacher,
    SearchTeacher,
    TeacherBatch,
    TeacherError,
    no_labels,
)
from engine.vertex import PASS, parse_vertex, policy_index
from tests.positions import game_from_diagram, random_game
from tests.search.fakes import FakeEvaluator

ENCODER = "liberties"


def positions_of(each: Record, result: FinalResult | None, key: int) -> list[Position]:
    """Return all positions of a record, with a result of the test's own."""
    return [replace(position, result=result) for position in GameReader().positions(each, key)]


class ScriptedTeacher:
    """Labels the targets it is configured for; its score is the move number, its policy the first legal point."""

    def __init__(self, known: Iterable[int] = (POLICY, OUTCOME, SCORE, OWNERSHIP), batch: int = 8) -> None:
        self.name, self.batch = "scripted", batch
        self.board_sizes: tuple[int, int] | None = None
        self.known = list(known)
        self.labelled = 0
        self.lasts = 10**9

    def label(self, batch: TeacherBatch, stop: threading.Event | None = None) -> Labels:
        count, area = len(batch.games), batch.positions.width * batch.positions.height
        if self.labelled + count > self.lasts:
            raise TeacherError("gone")
        self.labelled += count
        labels = no_labels(count, area)
        labels.policy[np.arange(count), np.argmax(batch.positions.legal, axis=1)] = 1
        labels.outcome[:] = (0.25, 0.5, 0.25)
        labels.score[:] = [game.move_number for game in batch.games]
        labels.ownership[:] = 0.5
        labels.known[:, self.known] = True
        return labels

    def close(self) -> None:
        """Hold nothing."""


def record(size: int, moves: int, seed: int = 0) -> Record:
    game = random_game(seed, size, moves=moves)
    return Record(f"game {seed}", size, size, steps=tuple(game.moves), komi=7.5, rules=TROMP_TAYLOR)


def games_of(*records: Record, held_out: int | None = None) -> list[SourceGame]:
    def reader(place: int, each: Record) -> Callable[[], list[Position]]:
        return lambda: positions_of(each, FinalResult(BLACK), place)

    return [SourceGame(place == held_out, reader(place, each)) for place, each in enumerate(records)]


def samples_in(folder: Path) -> dict[str, list[Samples]]:
    found: dict[str, list[Samples]] = {}
    for path in sorted(folder.glob("*x*/*.safetensors")):
        found.setdefault(path.parent.name, []).append(read_shard(path))
    return found


def distiller(folder: Path, teacher: ScriptedTeacher, wanted: int | None = None, **options: object) -> Distiller:
    settings = DistillSettings(teacher.name, ("records",), ENCODER)
    return Distiller(folder, settings, teacher, wanted=wanted, **options)  # type: ignore[arg-type]


def test_every_position_of_every_game_that_is_not_held_out_is_labelled_once(tmp_path: Path) -> None:
    records = [record(5, 20, 1), record(7, 20, 2), record(5, 13, 3)]
    total = distiller(tmp_path, ScriptedTeacher()).run(games_of(*records, held_out=2))
    assert (total.games, total.held_out, total.unusable, total.masked) == (3, 1, 0, 0)
    shards = samples_in(tmp_path)
    assert {size: sum(map(len, parts)) for size, parts in shards.items()} == {"5x5": 20, "7x7": 20}
    assert sorted(shards["5x5"][0].ply.tolist()) == list(range(20))
    assert set(shards["5x5"][0].game.tolist()) == {0}


def test_inputs_are_those_of_the_position_under_its_own_rules(tmp_path: Path) -> None:
    each = record(5, 12)
    distiller(tmp_path, ScriptedTeacher(batch=5)).run(games_of(each))
    samples = samples_in(tmp_path)["5x5"][0]
    encoder = ENCODERS[ENCODER]
    for row, ply in enumerate(samples.ply.tolist()):
        batch, game = PositionBatch(1, 5, 5), each.game(ply + 1)
        write_position(game, game.to_play, batch, 0)
        planes, globals_ = np.zeros((1, encoder.planes, 5, 5), np.float32), np.zeros((1, encoder.globals), np.float32)
        encoder.encode(batch, 1, planes, globals_)
        assert np.array_equal(samples.planes[row], packed(planes == 1)[0])
        assert np.array_equal(samples.globals[row], globals_[0])


def test_what_the_teacher_knows_stands_before_the_record_and_the_rest_is_the_records() -> None:
    each = record(5, 6)
    owner = np.linspace(-1, 1, 25)
    found = positions_of(each, FinalResult(BLACK, 4.5, owner), 7)
    question, maker = teacher_batch(found), SampleMaker(ENCODER)
    all_told = maker.samples(found, question, ScriptedTeacher().label(question), Mixture())
    assert np.allclose(all_told.outcome, (0.25, 0.5, 0.25))
    assert all_told.score.tolist() == list(range(6))
    assert set(all_told.ownership.ravel().tolist()) == {round(OWNERSHIP_SCALE / 2)}
    assert all_told.weights[:-1].tolist() == [[1.0] * 5] * 5
    moves_only = maker.samples(found, question, ScriptedTeacher([POLICY]).label(question), Mixture())
    assert moves_only.outcome[:2].tolist() == [[1, 0, 0], [0, 1, 0]]
    assert moves_only.score[:2].tolist() == [4.5, -4.5]
    assert moves_only.ownership[1].tolist() == np.rint(-owner * OWNERSHIP_SCALE).tolist()
    assert moves_only.reply[0].argmax() == policy_index(each.moves[1].vertex, 5, 5)
    assert moves_only.weights[-1, 1] == 0


def test_the_policy_can_be_a_mixture_with_the_move_that_was_played() -> None:
    found = positions_of(record(5, 6), None, 7)
    question, maker = teacher_batch(found), SampleMaker(ENCODER)
    labels = ScriptedTeacher().label(question)
    samples = maker.samples(found, question, labels, Mixture(own_move=0.25))
    for row, position in enumerate(found):
        mixed = 0.75 * labels.policy[row] + 0.25 * one_hot(position.move, 5, 5)
        assert np.allclose(samples.policy[row], mixed, atol=1e-3)


def test_a_teacher_without_a_policy_leaves_the_played_move_or_nothing() -> None:
    found = positions_of(record(5, 6), None, 7)
    question, maker = teacher_batch(found), SampleMaker(ENCODER)
    labels = ScriptedTeacher([SCORE]).label(question)
    assert len(maker.samples(found, question, labels, Mixture())) == 0
    samples = maker.samples(found, question, labels, Mixture(own_move=0.25))
    assert samples.weights[:, 0].tolist() == [0.25] * 6
    assert samples.weights[:, 2:].tolist() == [[0, 1, 0]] * 6, "no result is known, nor any owner"


def test_a_score_shapes_the_outcome_only_where_the_teacher_has_no_winrate() -> None:
    found = positions_of(record(5, 6), FinalResult(BLACK), 7)
    question, maker, mixture = teacher_batch(found), SampleMaker(ENCODER), Mixture(shaping=0.5)
    scored = maker.samples(found, question, ScriptedTeacher([POLICY, SCORE]).label(question), mixture)
    assert scored.outcome[4].tolist() == pytest.approx([0.5 + 0.25 * (1 + np.tanh(0.2)), 0.25 * (1 - np.tanh(0.2)), 0])
    samples = maker.samples(found, question, ScriptedTeacher().label(question), mixture)
    assert np.allclose(samples.outcome, (0.25, 0.5, 0.25))
    silent = maker.samples(found, question, ScriptedTeacher([POLICY]).label(question), mixture)
    assert silent.outcome[4].tolist() == [1, 0, 0]


def test_a_draw_by_game_takes_the_same_positions_every_time() -> None:
    each = record(5, 20)
    drawn = [[p.game.move_number for p in GameReader(4, seed).positions(each, 99)] for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert [len(set(plies)) for plies in drawn] == [4, 4, 4]


def test_moves_out_of_turn_and_after_late_setup_are_no_positions() -> None:
    sgf = b"(;SZ[5];B[aa];B[bb];W[cc];AB[dd];W[ee])"
    assert [p.move for p in GameReader().read(sgf, "x")] == [parse_vertex(text, 5, 5) for text in ("A5", "C3")]


def test_a_batch_has_one_size_and_one_rule_set() -> None:
    games = [Game(5), Game(5, rules=CHINESE), Game(7), Game(5), Game(5)]
    found = list(batches([Position(game, PASS, None, None, 1) for game in games], 2))
    assert [[p.game for p in batch] for batch in found] == [[games[0], games[3]], [games[1]], [games[2]], [games[4]]]


def test_a_run_that_lost_its_teacher_goes_on_with_the_same_command(tmp_path: Path) -> None:
    records = [record(5, 20, seed) for seed in range(6)]
    dying = ScriptedTeacher()
    dying.lasts = 50
    with pytest.raises(TeacherError):
        distiller(tmp_path / "a", dying, chunk_positions=20).run(games_of(*records))
    kept = sum(map(len, samples_in(tmp_path / "a")["5x5"]))
    assert kept == 40
    teacher = ScriptedTeacher()
    total = distiller(tmp_path / "a", teacher, chunk_positions=20).run(games_of(*records))
    assert (teacher.labelled, total.positions, total.games) == (80, 120, 6)
    distiller(tmp_path / "b", ScriptedTeacher(), chunk_positions=20).run(games_of(*records))
    for first, second in zip(*(samples_in(tmp_path / name)["5x5"] for name in "ab"), strict=True):
        assert np.array_equal(first.planes, second.planes)
        assert np.array_equal(first.policy, second.policy)


def test_a_run_that_is_stopped_keeps_whole_chunks_and_goes_on(tmp_path: Path) -> None:
    records, stop = [record(5, 20, seed) for seed in range(4)], threading.Event()

    def end(progress: Progress) -> None:
        if progress.total.positions > 20:
            stop.set()

    first = distiller(tmp_path, ScriptedTeacher(), chunk_positions=20, report=end).run(games_of(*records), stop)
    assert first.positions == sum(map(len, samples_in(tmp_path)["5x5"])) == 20
    assert distiller(tmp_path, ScriptedTeacher()).run(games_of(*records)).positions == 80


def test_a_board_that_the_teacher_does_not_know_is_unusable(tmp_path: Path) -> None:
    teacher = ScriptedTeacher()
    teacher.board_sizes = (5, 6)
    total = distiller(tmp_path, teacher).run(games_of(record(5, 7), record(7, 7), record(4, 7)))
    assert (total.games, total.unusable, total.positions) == (3, 2, 7)


def test_shards_without_a_line_are_written_anew(tmp_path: Path) -> None:
    distiller(tmp_path, ScriptedTeacher(), chunk_positions=20).run(games_of(record(5, 20, 1), record(7, 20, 2)))
    lines = (tmp_path / "progress.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "progress.jsonl").write_text(lines[0] + lines[1][:10], encoding="utf-8")
    total = distiller(tmp_path, ScriptedTeacher(), chunk_positions=20).run(games_of(record(5, 20, 1), record(5, 9, 3)))
    assert total.positions == 29
    assert {size: sum(map(len, parts)) for size, parts in samples_in(tmp_path).items()} == {"5x5": 29}


def test_more_positions_make_a_finished_run_longer(tmp_path: Path) -> None:
    records = [record(5, 20, seed) for seed in range(4)]
    reports: list[Progress] = []
    first = distiller(tmp_path, ScriptedTeacher(), 30, report=reports.append).run(games_of(*records))
    assert (first.positions, first.games) == (30, 2)
    assert reports[-1].total == first
    again = distiller(tmp_path, ScriptedTeacher(), 30).run(games_of(*records))
    assert again == first
    longer = distiller(tmp_path, ScriptedTeacher(), 50).run(games_of(*records))
    assert (longer.positions, longer.games) == (50, 3)


def test_a_folder_of_another_run_is_refused_by_the_setting_that_differs(tmp_path: Path) -> None:
    distiller(tmp_path, ScriptedTeacher()).run([])
    other = DistillSettings("scripted", ("other",), ENCODER)
    with pytest.raises(GoError, match=r"sources was \['records'\] there and is \['other'\] now"):
        Distiller(tmp_path, other, ScriptedTeacher())


def test_a_game_that_cannot_be_read_is_counted_and_passed_over(tmp_path: Path) -> None:
    def broken() -> list[Position]:
        raise GoError("no game")

    total = distiller(tmp_path, ScriptedTeacher()).run([SourceGame(False, broken), *games_of(record(5, 7))])
    assert (total.games, total.unusable, total.positions) == (2, 1, 7)


def test_a_shard_says_who_labelled_it(tmp_path: Path) -> None:
    distiller(tmp_path, ScriptedTeacher()).run(games_of(record(5, 7)))
    info = shard_info(next(tmp_path.glob("5x5/*.safetensors")))
    assert json.loads(info.provenance["teacher"]) == "scripted"


def test_a_line_that_is_no_progress_is_named(tmp_path: Path) -> None:
    distiller(tmp_path, ScriptedTeacher()).run(games_of(record(5, 7)))
    (tmp_path / "progress.jsonl").write_text('{"gams": 3}\n', encoding="utf-8")
    with pytest.raises(GoError, match=r"progress\.jsonl:1: no line of progress"):
        distiller(tmp_path, ScriptedTeacher())
    assert Chunk() == Chunk(games=0)


def test_a_network_averages_over_symmetries() -> None:
    evaluator = UniformEvaluator()
    game = random_game(1, 5, moves=8)
    labels = NetworkTeacher(evaluator, "uniform", 8).label(teacher_batch([Position(game, PASS, None, None, 1)]))
    assert labels.policy[0].sum() == pytest.approx(1)
    assert labels.outcome[0].tolist() == [0.5, 0.5, 0]
    assert labels.known[0].tolist() == [True, True, False, False]


def test_a_search_finds_the_capture_that_decides_the_game_and_says_who_wins() -> None:
    game = game_from_diagram(
        """
        . O . . .
        O O O O O
        X X X X X
        X . X . X
        X X X X .
        """,
        komi=0.5,
    )
    teacher = SearchTeacher(RolloutEvaluator(1), ROLLOUT_PARAMS, 200, "playouts")
    labels = teacher.label(teacher_batch([Position(game, PASS, None, None, 1)]))
    teacher.close()
    assert labels.policy[0].sum() == pytest.approx(1)
    assert labels.outcome[0, 0] > 0.6
    assert labels.ownership[0, 10:15].min() > 0.5


def test_a_position_searched_beside_others_has_the_labels_of_a_search_alone() -> None:
    games = [random_game(seed, 7, moves=10 + seed) for seed in range(6)]
    teacher = SearchTeacher(FakeEvaluator(), SearchParams(), 60, "fake")
    together = teacher.label(teacher_batch([Position(game, PASS, None, None, 1) for game in games]))
    for row, game in enumerate(games):
        search = Search(FakeEvaluator(), SearchParams(prunes_symmetric_moves=False, seed=1))
        search.begin(game, game.to_play, game.legal_vertices())
        search.run([VisitStopper(60)], 60)
        table = move_table(search.tree, search.root, search.params)
        visits = np.zeros(7 * 7 + 1)
        visits[[policy_index(int(vertex), 7, 7) for vertex in table.vertex]] = table.visits
        assert together.policy[row] == pytest.approx(visits / visits.sum(), abs=1e-6)
        value = search.tree.nodes[ROOT]["value"] * (1 if game.to_play == BLACK else -1)
        assert together.outcome[row, 0] - together.outcome[row, 1] == pytest.approx(value, abs=1e-6)
        search.close()


def test_what_a_search_finds_is_the_near_future_of_a_sample() -> None:
    game = random_game(3, 7, moves=12)
    position = Position(game, game.legal_vertices()[0], None, None, 1)
    question = teacher_batch([position])
    teachers = SearchTeacher(FakeEvaluator(), SearchParams(), 20, "searched"), NetworkTeacher(FakeEvaluator(), "fake")
    searched, plain = (
        SampleMaker(ENCODER).samples([position], question, teacher.label(question), Mixture()) for teacher in teachers
    )
    assert searched.later[0] == pytest.approx(np.tile([*searched.outcome[0], searched.score[0]], (3, 1)))
    assert not plain.later.any()


def test_a_stopped_search_labels_no_more_positions() -> None:
    stop, evaluator = threading.Event(), FakeEvaluator()
    stop.set()
    games = [random_game(seed, 7, moves=10) for seed in range(6)]
    labels = SearchTeacher(evaluator, SearchParams(), 10_000, "fake").label(
        teacher_batch([Position(game, PASS, None, None, 1) for game in games]), stop
    )
    assert not labels.known.any()
    assert evaluator.positions < 1000


def test_a_search_without_scores_knows_none() -> None:
    teacher = SearchTeacher(UniformEvaluator(), SearchParams(), 20, "uniform")
    labels = teacher.label(teacher_batch([Position(random_game(1, 5, moves=8), PASS, None, None, 1)]))
    teacher.close()
    assert labels.known[0].tolist() == [True, True, False, False]
    with pytest.raises(ValueError, match="visits: expected 2 or more, got 1"):
        SearchTeacher(UniformEvaluator(), SearchParams(), 1, "uniform")
