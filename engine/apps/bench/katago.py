"""Measures KataGo's speed on the same network and positions, with its own benchmark."""

import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from engine.errors import GoError
from engine.records.sgf_writer import write_game
from engine.search.bench_positions import Searched
from engine.support.command_line import joined, startable
from engine.support.cores import usable_cores

_FIRST_VISITS = 150
"""Visits of each position in the first run, whose speed determines the visits of the next ones."""
_FEWEST_VISITS = 50
_RESULT = re.compile(r"numSearchThreads = +(\d+):[^\r\n]*?visits/s = ([\d.]+) nnEvals/s = ([\d.]+)")


class Speed(NamedTuple):
    """Visits per second of a search, and evaluations of the network per second."""

    visits: float
    evaluations: float


class KataGo:
    """KataGo on some positions, with one or two threads per core, whichever is faster.

    command: starts KataGo's benchmark with its network, such as "katago benchmark -config gtp.cfg -model FILE".
    """

    def __init__(self, command: str, positions: Sequence[Searched]) -> None:
        self._command, self._positions = command, positions
        cores = usable_cores()
        self._threads, self._visits = [cores, 2 * cores], _FIRST_VISITS

    def speed(self, seconds: float) -> Speed:
        """Return the speed of searches of about `seconds` seconds, one for each position.

        Raises GoError if the command fails or prints no speed.
        """
        with tempfile.TemporaryDirectory() as folder:
            found = [self._search(position, Path(folder) / "position.sgf") for position in self._positions]
        speeds = {threads: _together([each[threads] for each in found]) for threads in found[0]}
        fastest = max(speeds, key=speeds.__getitem__)
        # The first call tries both numbers of threads; later ones use the faster one, for about the time asked for.
        self._threads, self._visits = [fastest], max(_FEWEST_VISITS, round(speeds[fastest].visits * seconds))
        return speeds[fastest]

    def _search(self, position: Searched, file: Path) -> dict[int, Speed]:
        """Return the speed in one position for each number of threads."""
        # KataGo samples positions from a game, before any of its moves. So each position gets a record with its stones
        # as setup and one move.
        game = position.game.copy()
        game.play(game.to_play, position.reply)
        file.write_text(write_game(game), encoding="utf-8")
        threads = ",".join(map(str, self._threads))
        options = ["-sgf", str(file), "-n", "1", "-v", str(self._visits), "-t", threads]
        command = f"{self._command} {joined(options)}"
        try:
            done = subprocess.run(
                startable(command), stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
            )
        except OSError as error:
            raise GoError(f"{self._command}: cannot be run: {error.strerror or error}") from None
        speeds = parse_speeds(done.stdout)
        if done.returncode != 0 or not speeds:
            words = f"{done.stdout}\n{done.stderr}".strip().splitlines() or ["nothing"]
            raise GoError(f"{command} gave no speed; it ended with: {words[-1]}")
        return speeds


def _together(speeds: Sequence[Speed]) -> Speed:
    """Return the overall speed of consecutive searches with the same number of visits each."""
    seconds = sum(1.0 / each.visits for each in speeds)
    return Speed(len(speeds) / seconds, sum(each.evaluations / each.visits for each in speeds) / seconds)


def parse_speeds(output: str) -> dict[int, Speed]:
    """Parse the output of KataGo's benchmark: a speed for each number of threads."""
    return {int(threads): Speed(float(visits), float(rate)) for threads, visits, rate in _RESULT.findall(output)}
