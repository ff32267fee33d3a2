"""KataGo's speed on the same network, measured by its own benchmark."""

import os
import re
import subprocess
from collections.abc import Sequence

from engine.errors import GoError

_POSITIONS, _VISITS = 2, 150
_RESULT = re.compile(r"numSearchThreads = +(\d+):[^\r\n]*?nnEvals/s = ([\d.]+)")


class KataGo:
    """KataGo on one board size, with as many threads as make it fastest here: one a core, or two.

    command: how to start KataGo's benchmark with its network, such as
        ["katago", "benchmark", "-config", "gtp.cfg", "-model", "FILE"].
    Raises GoError, in every call, where the command gives no result or the board is not square.
    """

    def __init__(self, command: Sequence[str], width: int, height: int) -> None:
        if width != height:
            raise GoError(f"KataGo's benchmark knows square boards only, not {width}x{height}")
        self._command, self._size = list(command), width
        cores = os.cpu_count() or 1
        self._threads = [cores, 2 * cores]

    def evaluations_per_second(self) -> float:
        """Return the positions that its network evaluates a second in a search."""
        arguments = ["-boardsize", self._size, "-n", _POSITIONS, "-v", _VISITS, "-t", ",".join(map(str, self._threads))]
        command = [*self._command, *map(str, arguments)]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
        except OSError as error:
            raise GoError(f"{command[0]}: cannot be run: {error.strerror or error}") from None
        rates = parse_rates(done.stdout)
        if done.returncode != 0 or not rates:
            words = f"{done.stdout}\n{done.stderr}".strip().splitlines() or ["nothing"]
            raise GoError(f"{' '.join(command)} gave no evaluations a second; it ended with: {words[-1]}")
        fastest = max(rates, key=rates.__getitem__)
        self._threads = [fastest]
        return rates[fastest]


def parse_rates(output: str) -> dict[int, float]:
    """Return the evaluations a second by threads that a benchmark printed."""
    return {int(threads): float(rate) for threads, rate in _RESULT.findall(output)}
