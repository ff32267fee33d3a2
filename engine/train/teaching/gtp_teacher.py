"""Teachers that are GTP programs; each position is labelled by the best command that a program lists.

In this order: `kata-raw-nn` (if no visits are set), an analyzed search (`kata-search_analyze`, else
`kata-genmove_analyze` and `undo`), a move (`reg_genmove`, else `genmove` and `undo`) and a score
(`estimate_score`, else `final_score`). Labels that a program refuses with `?` stay unknown. A program that crashes or
hangs is restarted; after `PATIENCE` failures in a row, the teacher raises TeacherError.
"""

import logging
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from engine.color import BLACK, WHITE, color_name, for_color
from engine.game import Game
from engine.programs.answers import AnalysisAnswer, parse_analysis, parse_move, parse_raw, parse_score
from engine.programs.follower import Follower
from engine.programs.program import ProgramFailure
from engine.programs.views import View, ask_for_movers, for_mover, shown_view
from engine.train.teaching.teacher import (
    OUTCOME,
    OWNERSHIP,
    POLICY,
    SCORE,
    Labels,
    TeacherBatch,
    TeacherError,
    no_labels,
)
from engine.vertex import PASS, policy_index

log = logging.getLogger(__name__)

PATIENCE = 3
"""Failures in a row, each in a new process, after which a program is given up."""
# 60 moves keep the line short enough to be read in full, and contain all but a few visits.
_ANALYSIS = "rootInfo true ownership true maxmoves 60"
_SEARCHES = ("kata-search_analyze", "kata-genmove_analyze")


class GtpProgram:
    """One program that labels the last positions of games; started on first use.

    visits: of a search, None for only its network or its move.
    seconds: the timeout of a response. failures: current number of failures in a row.
    """

    def __init__(self, command: str, visits: int | None = None, seconds: float = 120.0) -> None:
        self._visits = visits
        self._follower = Follower(command, seconds)
        self._ask = self._follower.ask
        self._reported_view: View | None = None
        self._views: dict[tuple[int, int], View | None] = {}
        self.failures = 0

    def begin(self) -> None:
        """Start the program. Raises TeacherError if that fails."""
        try:
            self.start()
        except ProgramFailure as failure:
            raise TeacherError(f"no teacher: {failure.detail}") from failure

    def start(self) -> None:
        """Start the program unless it runs. Raises ProgramFailure, or TeacherError if visits cannot be set."""
        if self._follower.is_running:
            return
        try:
            self._follower.start()
            if self._visits is not None:
                self._set_visits(self._visits)
        except (ProgramFailure, TeacherError):
            self._follower.kill()
            raise

    def _set_visits(self, visits: int) -> None:
        follower = self._follower
        searches = follower.first_listed(*_SEARCHES) is not None and follower.lists("kata-set-param")
        if not (searches and self._ask(f"kata-set-param maxVisits {visits}").ok):
            raise TeacherError(f"no teacher: {follower.command!r} does not take {visits} visits by kata-set-param")
        self._reported_view, self._views = ask_for_movers(follower), {}

    def count_failure(self, game: Game, failure: ProgramFailure) -> None:
        """Count a failure. Raises TeacherError after `PATIENCE` failures in a row."""
        self.failures += 1
        log.warning("the teacher failed at move %d: %s", game.move_number + 1, failure)
        if self.failures >= PATIENCE:
            raise TeacherError(f"the teacher failed {PATIENCE} times in a row: {failure.detail}") from failure

    def close(self) -> None:
        """Quit the program if it runs."""
        self._follower.close()

    def label(self, game: Game, labels: Labels, row: int) -> None:
        """Fill in one row of labels. Raises ProgramFailure; the next call restarts the program."""
        self.start()
        try:
            view = None if self._visits is None else self._view(game)
            if self._follower.follow(game):
                self._label(game, view, labels, row)
        except ProgramFailure:
            self._follower.kill()
            raise

    def best_move(self, game: Game) -> int | None:
        """Return the program's move in a position, or None if it gives none. Raises ProgramFailure."""
        self.start()
        try:
            return self._move(game) if self._follower.follow(game) else None
        except ProgramFailure:
            self._follower.kill()
            raise

    def _view(self, game: Game) -> View | None:
        """Return the point of view of the program's analysis, None if it cannot be determined."""
        size = game.width, game.height
        if self._reported_view is None and size not in self._views:
            self._views[size] = shown_view(self._winrate, game)
        return self._reported_view or self._views[size]

    def _winrate(self, game: Game) -> float | None:
        answer = self._analysis(game) if self._follower.follow(game) else None
        return None if answer is None else answer.winrate

    def _label(self, game: Game, view: View | None, labels: Labels, row: int) -> None:
        is_labelled = False
        # kata-raw-nn has no argument for the color, so the program must know the side to move.
        if self._visits is None and self._follower.lists("kata-raw-nn") and _turn_is_plain(game):
            is_labelled = self._read_network(game, labels, row)
        elif self._visits is not None:
            is_labelled = self._read_analysis(game, view, labels, row)
        if not is_labelled:
            self._read_move_and_score(game, labels, row)

    def _read_network(self, game: Game, labels: Labels, row: int) -> bool:
        reply = self._ask("kata-raw-nn 0")
        answer = parse_raw(reply.text, game.width, game.height) if reply.ok else None
        if answer is None:
            return False
        is_white = game.to_play == WHITE
        labels.policy[row] = answer.policy
        win, loss = (answer.white_win, answer.white_loss) if is_white else (answer.white_loss, answer.white_win)
        labels.outcome[row] = np.array([win, loss, answer.no_result]) / (win + loss + answer.no_result)
        labels.known[row, [POLICY, OUTCOME]] = True
        if answer.white_score is not None:
            labels.score[row], labels.known[row, SCORE] = for_color(-answer.white_score, game.to_play), True
        if answer.ownership is not None:
            labels.ownership[row], labels.known[row, OWNERSHIP] = for_color(-answer.ownership, game.to_play), True
        return True

    def _analysis(self, game: Game) -> AnalysisAnswer | None:
        """Return the analysis of the program's current position, None if it fails."""
        word = self._follower.first_listed(*_SEARCHES)
        reply = self._ask(f"{word} {color_name(game.to_play)} {_ANALYSIS}")
        answer = parse_analysis(reply.text, game.width, game.height) if reply.ok else None
        if word == "kata-genmove_analyze" and reply.ok:
            self._follower.take_back(answer.move if answer is not None else "")
        return answer

    def _read_analysis(self, game: Game, view: View | None, labels: Labels, row: int) -> bool:
        """Label a row by a search; without a known point of view, only the visits are used."""
        answer = self._analysis(game)
        visits = np.zeros(game.width * game.height + 1, dtype=np.float32)
        for candidate in answer.candidates if answer is not None else ():
            visits[policy_index(candidate.vertex, game.width, game.height)] = candidate.visits
        if answer is None or not visits.any():
            return False
        labels.policy[row] = visits / visits.sum()
        labels.known[row, POLICY] = True
        if view is None:
            return True
        answer = for_mover(answer, view, game.to_play)
        if answer.winrate is not None:
            labels.outcome[row], labels.known[row, OUTCOME] = (answer.winrate, 1 - answer.winrate, 0), True
        if answer.score is not None:
            labels.score[row], labels.known[row, SCORE] = answer.score, True
        if answer.ownership is not None:
            labels.ownership[row], labels.known[row, OWNERSHIP] = answer.ownership, True
        return True

    def _read_move_and_score(self, game: Game, labels: Labels, row: int) -> None:
        vertex = self._move(game)
        if vertex is not None:
            labels.policy[row, policy_index(vertex, game.width, game.height)] = 1.0
            labels.known[row, POLICY] = True
        word = self._follower.first_listed("estimate_score", "final_score")
        if word is None:
            return
        reply = self._ask(word)
        score = parse_score(reply.text) if reply.ok else None
        if score is not None:
            labels.score[row], labels.known[row, SCORE] = for_color(score, game.to_play), True

    def _move(self, game: Game) -> int | None:
        """Return the program's move without playing it; None for a resignation or a `?`."""
        changes = not self._follower.lists("reg_genmove")
        reply = self._ask(f"{'genmove' if changes else 'reg_genmove'} {color_name(game.to_play)}")
        if changes and reply.ok:
            self._follower.take_back(reply.text)
        vertex = parse_move(reply.text, game.width, game.height) if reply.ok else None
        return vertex if vertex is None or vertex == PASS or game.is_legal(game.to_play, vertex) else None


class GtpTeacher:
    """Several processes of one GTP program that label positions in parallel."""

    def __init__(
        self, command: str, *, visits: int | None = None, programs: int = 1, seconds: float = 120.0, batch: int = 64
    ) -> None:
        """Start the first process. Raises TeacherError if that fails."""
        self.name = command if visits is None else f"{command} ({visits} visits)"
        self.batch, self._searches = batch, visits is not None
        self.board_sizes: tuple[int, int] | None = None
        self._programs = [GtpProgram(command, visits, seconds) for _ in range(programs)]
        # One is started at once, so that a wrong command line fails before any record is read.
        self._programs[0].begin()
        self._workers = ThreadPoolExecutor(programs, thread_name_prefix="teacher")

    def label(self, batch: TeacherBatch, stop: threading.Event | None = None) -> Labels:
        """Return the programs' labels; positions at which a program fails stay unknown.

        Consecutive positions go to the same process, which then needs only the moves in between.
        """
        if any(program.failures >= PATIENCE for program in self._programs):
            raise TeacherError(f"the teacher failed {PATIENCE} times in a row")
        area = batch.positions.width * batch.positions.height
        labels = no_labels(len(batch.games), area, searched=self._searches)
        shares = np.array_split(np.arange(len(batch.games)), len(self._programs))
        jobs = zip(self._programs, shares, strict=True)
        running = [self._workers.submit(_label_all, job[0], batch.games, job[1].tolist(), labels, stop) for job in jobs]
        for each in running:
            each.result()
        return labels

    def close(self) -> None:
        """Quit all processes."""
        self._workers.shutdown()
        for program in self._programs:
            program.close()


def _label_all(
    program: GtpProgram, games: Sequence[Game], rows: Sequence[int], labels: Labels, stop: threading.Event | None
) -> None:
    for row in rows:
        if stop is not None and stop.is_set():
            return
        try:
            program.label(games[row], labels, row)
            program.failures = 0
        except ProgramFailure as failure:
            labels.known[row] = False
            program.count_failure(games[row], failure)


def _turn_is_plain(game: Game) -> bool:
    """True if the side to move follows from the last move or setup, so that a program knows it."""
    if game.moves:
        return True
    last = game.setup_white if game.to_play == BLACK else game.setup_black
    return bool(last) or (game.to_play == BLACK and not game.setup_black and not game.setup_white)


class Advice:
    """Exploratory moves of a GTP program; None if it fails or refuses."""

    def __init__(self, command: str, seconds: float = 30.0) -> None:
        """Start the program. seconds: the timeout of a move. Raises TeacherError if the start fails."""
        self._program = GtpProgram(command, seconds=seconds)
        self._program.begin()

    def __call__(self, game: Game) -> int | None:
        """Return the program's move for the side to move, or None. Raises TeacherError after repeated failures."""
        try:
            vertex = self._program.best_move(game)
        except ProgramFailure as failure:
            self._program.count_failure(game, failure)
            return None
        self._program.failures = 0
        return vertex

    def close(self) -> None:
        """Quit the program."""
        self._program.close()
