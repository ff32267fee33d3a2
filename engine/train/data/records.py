"""Turns game records into samples, from the point of view of the side to move.

Policy and reply targets are the moves of the record. The outcome is the recorded winner; score and ownership are
known where `engine.train.data.final_scoring` accepts its judgement. Records are read in this process or in several
worker processes, with the same samples in the same order.

Missing rules and komi are filled in with what was usual: Chinese rules with a komi of 7 or more, else Japanese
rules; a komi of 7.5 under area rules and 6.5 under territory rules, and 0.5 with a handicap.
"""

import multiprocessing
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np

from engine.color import opponent
from engine.errors import BadSgf, GoError, IllegalMove
from engine.game import HANDICAP_KOMI, Game, Move
from engine.records.human_profiles import profile_of_game
from engine.records.sgf import Record, load_sgf
from engine.records.sgf_source import iterate_records
from engine.rules import CHINESE, JAPANESE, Rules
from engine.support.worker_processes import become_worker
from engine.train.data.final_scoring import Ending, FinalJudge, recorded_result
from engine.train.data.held_out import game_hash, is_held_out
from engine.train.data.players import players_of
from engine.train.data.samples import Samples, SampleWriter, empty_samples
from engine.train.data.targets import FinalResult, one_hot
from engine.vertex import PASS

Source = tuple[str, bytes]
"""The name and the text of a record."""

NO_RANKS = "without the players' ranks"
"""Why records that a human network cannot use are skipped."""
GAMES_A_TASK = 16
TASKS_AHEAD = 3
"""Queued tasks per process, so that no process is idle while this one writes or trains."""
_CHINESE_KOMI = 7.0


@dataclass(frozen=True)
class RecordOptions:
    """Selects the samples that are made of a record.

    encoder: its name in `engine.encoders.ENCODERS`.
    per_game: positions drawn from each game by `seed` and the game's hash; None for all.
    held_out: False for training games, True for held-out games, None for both.
    sizes: board sizes (width, height) to read, None for all.
    players: whether samples have the players' ranks, as a human network needs; records without ranks are skipped.
    agreed_passes: if a game under territory rules was counted but the record has no passes, add the two passes by
        which the players agreed to end it, provided that the final position can be judged.
    """

    encoder: str = "katago-v7"
    per_game: int | None = None
    seed: int = 1
    held_out: bool | None = False
    sizes: frozenset[tuple[int, int]] | None = None
    agreed_passes: bool = True
    players: bool = False

    def __post_init__(self) -> None:
        """Raise BadSamples on an unknown encoder, ValueError on less than one position a game."""
        empty_samples(self.encoder, 1, 1)
        if self.per_game is not None and self.per_game < 1:
            raise ValueError(f"expected at least 1 position a game, got {self.per_game}")


@dataclass
class Tally:
    """Counts of the records read. skipped: records skipped, by reason; examples: the name of one for each reason.

    settled: games whose ownership and score are known; counted: games that ended by points.
    """

    games: int = 0
    positions: int = 0
    counted: int = 0
    settled: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    def skip(self, reason: str, example: str) -> None:
        """Count a record that was skipped."""
        self.skipped[reason] += 1
        self.examples.setdefault(reason, example)

    @property
    def reasons(self) -> str:
        """How many records were skipped for each reason, in one line."""
        return "; ".join(f"{count} {reason}" for reason, count in self.skipped.items())

    def add(self, other: "Tally") -> None:
        """Add the counts of other records."""
        for name in ("games", "positions", "counted", "settled"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.skipped.update(other.skipped)
        for reason, example in other.examples.items():
            self.examples.setdefault(reason, example)


def rules_of(record: Record) -> Rules:
    """Return the rules of a record, or those that its komi suggests if it has none."""
    if record.rules is not None:
        return record.rules
    return CHINESE if record.komi is not None and record.komi >= _CHINESE_KOMI else JAPANESE


def komi_of(record: Record, rules: Rules) -> float:
    """Return the komi of a record, or the usual one if it has none."""
    if record.komi is not None:
        return record.komi
    if record.is_handicap_game:
        return HANDICAP_KOMI
    return 7.5 if rules.is_area else 6.5


def profile_of(record: Record) -> str | None:
    """Return the profile that fits the players of a record, None if it does not have their ranks."""
    return profile_of_game(*(record.about.get(name, "") for name in ("BR", "WR", "DT")))


@dataclass(frozen=True)
class PlayedPosition:
    """A position of a record with the move played in it and the reply to that, None if there was no reply."""

    game: Game
    move: Move
    reply: Move | None


@dataclass(frozen=True)
class PlayedGame:
    """The positions of a record in which the side to move played, and the game's result, None if unknown."""

    positions: list[PlayedPosition]
    result: FinalResult | None
    ending: Ending


def drawn_plies(per_game: int | None, seed: int, game_key: int) -> Callable[[int], Iterable[int]]:
    """Return a function from a game's number of plies to `per_game` plies drawn by seed and game, or to all plies."""

    def chosen(plies: int) -> Iterable[int]:
        if per_game is None or per_game >= plies:
            return range(plies)
        drawn: list[int] = np.random.default_rng([seed, game_key]).choice(plies, per_game, replace=False).tolist()
        return drawn

    return chosen


def play_record(record: Record, chosen: Callable[[int], Iterable[int]], judge: FinalJudge, passes: bool) -> PlayedGame:
    """Replay a record to its end, or as far as needed.

    chosen: maps the number of plies to the plies whose positions are returned.
    passes: see `RecordOptions.agreed_passes`.
    Plies out of turn, after the end of the game, or after stones set up in mid-game are skipped.
    Raises BadSgf if the record cannot be played.
    """
    recorded = recorded_result(record.result)
    rules = rules_of(record)
    end = min((setup.after for setup in record.setups if setup.after > 0), default=len(record.moves))
    # Stones that are set up in mid-game break the sequence of moves, so the result says nothing of what came before.
    is_whole = end == len(record.moves)
    moves = list(record.moves[:end])
    no_passes = bool(moves) and moves[-1].vertex != PASS
    agrees = passes and no_passes and is_whole and recorded.ending is Ending.COUNT and not rules.is_area
    # The plies are drawn before the replay, so that a replay may stop at the last one that is needed.
    drawn = set(chosen(end + 2 * agrees))
    needs_end = is_whole and recorded.ending not in (Ending.RESIGNATION, Ending.FORFEIT)
    last = end if needs_end else max(drawn, default=-1)
    found: dict[int, Game] = {}
    for ply, game in enumerate(record.positions(rules=rules, komi=komi_of(record, rules))):
        if game.is_over and ply < end:
            end, moves = ply, moves[:ply]
            break
        if ply in drawn and ply < end and moves[ply].color == game.to_play:
            found[ply] = game.copy()
        if ply == last:
            break
    result = judge.result(game, recorded) if is_whole else None
    if agrees and not game.is_over and result is not None and result.ownership is not None:
        for ply in (end, end + 1):
            moves.append(Move(game.to_play, PASS))
            if ply in drawn:
                found[ply] = game.copy()
            game.play(game.to_play, PASS)
    positions = []
    for ply, position in found.items():
        following = moves[ply + 1] if ply + 1 < len(moves) else None
        reply = following if following is not None and following.color == opponent(moves[ply].color) else None
        positions.append(PlayedPosition(position, moves[ply], reply))
    return PlayedGame(positions, result, recorded.ending)


@dataclass(frozen=True)
class Task:
    """Records that a worker reads at a time. seed: selects the positions, together with each game's hash."""

    sources: list[Source]
    seed: int


def tasks_of(sources: Iterable[Source], seed: int) -> Iterator[Task]:
    """Divide records into tasks."""
    records = iter(sources)
    while taken := list(islice(records, GAMES_A_TASK)):
        yield Task(taken, seed)


class RecordReader:
    """Makes samples of records in one process. Not thread-safe."""

    def __init__(self, options: RecordOptions) -> None:
        self.options = options
        self._judge = FinalJudge()
        self._writers: dict[tuple[int, int], SampleWriter] = {}

    def read(self, task: "Task") -> tuple[list[Samples], Tally]:
        """Return the samples of a task's records, grouped by board size, and the counts of the records."""
        tally = Tally()
        for name, data in task.sources:
            try:
                record = load_sgf(data, name=name)
                self._add(record, game_hash(data), task.seed, tally)
            except BadSgf as error:
                tally.skip(reason_of(error), str(error))
        taken = [writer.take() for writer in self._writers.values()]
        return [samples for samples in taken if len(samples)], tally

    def _add(self, record: Record, game_key: int, seed: int, tally: Tally) -> None:
        size = record.width, record.height
        if self.options.sizes is not None and size not in self.options.sizes:
            tally.skip("of another board size", record.name)
            return

        profile = profile_of(record) if self.options.players else None
        if self.options.players and profile is None:
            tally.skip(NO_RANKS, record.name)
            return
        chosen = drawn_plies(self.options.per_game, seed, game_key)
        played = play_record(record, chosen, self._judge, self.options.agreed_passes)
        if not played.positions:
            tally.skip("without a move in turn", record.name)
            return
        if size not in self._writers:
            self._writers[size] = SampleWriter(self.options.encoder, *size)
        for position in played.positions:
            color, vertex = position.move
            targets = {} if played.result is None else played.result.targets(color)
            reply = None if position.reply is None else one_hot(position.reply.vertex, *size)
            policy = one_hot(vertex, *size)
            players = None if profile is None else players_of(profile, color)
            self._writers[size].add(
                position.game, color, policy, reply=reply, game_hash=game_key, players=players, **targets
            )
        tally.games += 1
        tally.positions += len(played.positions)
        tally.counted += played.ending is Ending.COUNT
        tally.settled += played.result is not None and played.result.ownership is not None


def reason_of(error: BadSgf) -> str:
    """Return the reason for which a record was skipped."""
    return "with an illegal move" if isinstance(error.__cause__, IllegalMove) else "not readable"


# The reader of a worker process; a pool's tasks cannot carry one, because it holds compiled state.
_reader: RecordReader | None = None


def _start_worker(options: RecordOptions) -> None:
    global _reader
    become_worker()
    _reader = RecordReader(options)


def _work(task: Task) -> tuple[list[Samples], Tally]:
    assert _reader is not None
    return _reader.read(task)


def read_samples(
    sources: Iterable[Path] | Iterable[Source],
    options: RecordOptions,
    *,
    processes: int = 0,
    tally: Tally | None = None,
) -> Iterator[Samples]:
    """Yield the samples of game records, a few games of one board size at a time.

    sources: files, folders and archives as in `engine.records.sgf_source.iterate_records`, or (name, text) pairs.
    processes: number of worker processes; 0 reads in this one. A script that starts workers must be guarded by
    `if __name__ == "__main__"`.
    tally: updated as samples are yielded. Records and files that cannot be used are counted there and skipped.
    """
    counted = Tally() if tally is None else tally
    tasks = tasks_of(filter_split(iterate_sources(sources, counted), options), options.seed)
    for samples, part in read_tasks(tasks, options, processes):
        counted.add(part)
        yield from samples


def read_tasks(
    tasks: Iterator[Task], options: RecordOptions, processes: int, ahead: int | None = None
) -> Generator[tuple[list[Samples], Tally], None, None]:
    """Yield the samples of each task and the counts of its records, in task order; see `read_samples`.

    ahead: tasks that are read before they are asked for, by default TASKS_AHEAD for each process.

    Raises GoError when a worker process dies.
    """
    reader = RecordReader(options)
    first = next(tasks, None)
    if first is None:
        return
    # This process always reads the first task: that compiles the kernels once instead of in every worker.
    yield reader.read(first)
    if processes == 0:
        yield from map(reader.read, tasks)
        return
    # A forked process would inherit locks held by torch's and numba's threads; a spawned one starts clean.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context, _start_worker, (options,)) as pool:
        waiting: deque[Future[tuple[list[Samples], Tally]]] = deque()
        try:
            # Results are taken in the order of submission, so the samples do not depend on the number of processes.
            for task in tasks:
                waiting.append(pool.submit(_work, task))
                if len(waiting) >= (TASKS_AHEAD * processes if ahead is None else ahead):
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool:
            raise GoError("a worker that reads records died: it was killed or ran out of memory") from None
        finally:
            for future in waiting:
                future.cancel()


def filter_split(sources: Iterable[Source], options: RecordOptions) -> Iterator[Source]:
    """Yield the records that `options.held_out` selects."""
    for name, data in sources:
        if options.held_out is None or is_held_out(data) == options.held_out:
            yield name, data


def iterate_sources(sources: Iterable[Path] | Iterable[Source], tally: Tally) -> Iterator[Source]:
    """Yield the records of files, folders and archives; (name, text) pairs pass through. Counts unreadable files."""
    for source in sources:
        if isinstance(source, tuple):
            yield source
        else:
            yield from iterate_records([source], lambda error: tally.skip("not readable", str(error)))
