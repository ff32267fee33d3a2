"""A KGS bot's session that lasts for hours, with its memory, threads, file handles and times of replies recorded.

Run `python -m tests.soak --hours 1 --out FOLDER -- COMMAND...`. Writes FOLDER/soak.csv as it goes on, so that a run
that is cut off has lost nothing, and prints curves, figures and a verdict at the end. Exits with 1 if an answer is
wrong or something grows.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

from tests.conformity.driver import Controller, FramingError
from tests.soak.figures import QUICK, Sample, growth, summary, usage, write_csv
from tests.soak.kgs import KgsSession

_EVERY_SECONDS = 5.0
_WRITE_EVERY = 12


class Recorder:
    """Takes a sample of the engine every few seconds."""

    def __init__(self, session: KgsSession, pid: int, path: Path | None, every: float) -> None:
        """path: of the CSV file, None for none. every: seconds between samples."""
        self.samples: list[Sample] = []
        self._session, self._pid, self._path, self._every = session, pid, path, every
        self._began, self._next, self._read = time.monotonic(), 0.0, 0

    def take(self) -> None:
        """Take a sample if it is time for one."""
        now = time.monotonic() - self._began
        quick = [seconds for _, name, seconds in self._session.times[self._read :] if name in QUICK]
        if now < self._next or not quick:
            return
        self._next, self._read = now + self._every, len(self._session.times)
        self.samples.append(Sample(now, self._session.played.games, *usage(self._pid), statistics.median(quick)))
        if self._path is not None and len(self.samples) % _WRITE_EVERY == 0:
            write_csv(self.samples, self._path)


def soak(
    engine: Controller, sizes: list[int], seconds: float, seed: int, path: Path | None, every: float = _EVERY_SECONDS
) -> str:
    """Play for some time; return the report, whose last line is the verdict. Raises FramingError.

    every: seconds between samples.
    """
    session = KgsSession(engine, sizes, seed)
    session.greet()
    recorder = Recorder(session, engine.process.pid, path, every)
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        for _ in session.play():
            recorder.take()
            if time.monotonic() - began >= seconds:
                break
    if path is not None:
        write_csv(recorder.samples, path)
    played = session.played
    events = ", ".join(f"{count} {name}" for name, count in sorted(played.events.items()))
    grown = growth(recorder.samples)
    verdict = "flat" if not grown else f"not flat: {'; '.join(grown)}"
    head = f"{played.games} games, {played.moves} moves of the engine: {events}"
    return "\n".join([head, summary(recorder.samples, session.times), verdict])


def main() -> int:
    """Run from the command line; return 1 if the engine failed or something grew."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--sizes", default="9,13,19", help="board sizes in turn, such as 9,19")
    parser.add_argument("--seed", type=int, default=1, help="of the opponent's moves and of what happens")
    parser.add_argument("--out", type=Path, default=Path("soak"), help="folder for soak.csv and summary.txt")
    parser.add_argument("command", nargs="+", help="the engine")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with Controller(options.command) as engine:
        try:
            sizes = [int(size) for size in options.sizes.split(",")]
            report = soak(engine, sizes, 3600 * options.hours, options.seed, options.out / "soak.csv")
        except FramingError as error:
            print(error, *engine.errors[-5:], sep="\n", file=sys.stderr)
            return 1
    (options.out / "summary.txt").write_text(report + "\n", encoding="utf-8")
    print(report)
    return 0 if report.endswith("\nflat") else 1


if __name__ == "__main__":
    sys.exit(main())
