"""Regression suites through gogui-regress, in a table by suite: `python -m tests.clients.regress`.

The archive holds GNU Go's suites, and positions of Pachi's with the moves that it expects or does not; these are
written as suites, one for each folder. A suite states the right answers, and which of them its own program misses.
"""

import argparse
import html
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.shared import SHARED

ARCHIVE = SHARED / "problems" / "gtp_regression.tar.xz"
_GNUGO, _PACHI = Path("gnugo/regression"), Path("pachi/t-regress")
_PACHI_MISSES = "tofix"
_PACHI_TEST = re.compile(r"tunit genmove ([bw])\s+(.+)", re.IGNORECASE)
_VERDICT = re.compile(r"(?:(\S+) )?\d+ (passed|PASSED|failed|FAILED)(.*)")
_REPLY = re.compile(r"([=?])\d*(?: (.*))?$")
_UNCLOSED = re.compile(r"^(#\?[ \t]*\[[^\]\n]*[^\]\s])[ \t]*$", re.MULTILINE)
_UNKNOWN = "unknown command"
_HEADINGS = ("suite", "commands", "understood", "tests", "asked", "passed", "of asked", "own program")


@dataclass
class Suite:
    """What a program made of one suite.

    commands: commands sent. unknown: those that the program does not know, by name. tests: tests with an expected
    answer. asked: those whose command the program knows. passed: right answers. known_passes: tests that the suite's
    own program passes, as the suite notes.
    """

    name: str
    commands: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    tests: int = 0
    asked: int = 0
    passed: int = 0
    known_passes: int = 0

    def row(self) -> list[str]:
        """Return the cells of its line."""
        share = f"{self.passed / self.asked:.1%}" if self.asked else "-"
        counts = (self.commands, self.commands - self.unknown.total(), self.tests, self.asked, self.passed)
        return [self.name, *map(str, counts), share, str(self.known_passes)]


def unpack(archive: Path, folder: Path) -> list[Path]:
    """Write an archive's suites into a folder, and return their files.

    GNU Go's stay as they are, but for brackets that somebody forgot to close; Pachi's are translated.
    """
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    suites = sorted((folder / _GNUGO).glob("*.tst"))
    for path in suites:
        text = path.read_text(encoding="latin-1")
        path.write_text(_UNCLOSED.sub(r"\1]", text), encoding="latin-1")
    for group in sorted(path for path in (folder / _PACHI).glob("*") if path.is_dir()):
        mark = "*" if group.name == _PACHI_MISSES else ""
        text = "".join(pachi_suite(path.read_text(encoding="utf-8"), mark) for path in sorted(group.rglob("*.gtp")))
        if "#?" in text:
            suites.append(folder / f"pachi-{group.name}.tst")
            suites[-1].write_text(text, encoding="utf-8")
    return suites


def pachi_suite(script: str, mark: str = "") -> str:
    """Return one of Pachi's scripts in the language of gogui-regress, nothing if it expects no move.

    mark: follows each expected answer; `*` says that the suite's own program misses it.
    """
    lines, number = [], 0
    for line in (each.strip() for each in script.splitlines()):
        test = _PACHI_TEST.fullmatch(line)
        if test is not None:
            number += 10
            moves = test[2].upper().split()
            pattern = "|".join(move.lstrip("!") for move in moves)
            lines += [
                f"{number} reg_genmove {test[1]}",
                f"#? [{'!' if moves[0].startswith('!') else ''}({pattern})]{mark}",
            ]
        elif line and not line.startswith(("tunit", "pachi-", "genmove", "#")):
            lines.append(line)
    return "\n".join([*lines, "", ""]) if number else ""


def run(regress: Sequence[str], engine: str, suite: Path, out: Path) -> Suite:
    """Run one suite. Raises RuntimeError if the program or gogui-regress ends before its end."""
    command = [*regress, "-long", "-output", str(out), engine, str(suite)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    log = out / f"{suite.stem}.out.html"
    if "Summary:" not in done.stdout or not log.exists():
        raise RuntimeError(f"{suite.name}: {done.stdout[-1000:]}{done.stderr[-1000:]}")
    found = Suite(suite.stem)
    _read_verdicts(done.stdout.splitlines(), found)
    _read_log(log.read_text(encoding="utf-8", errors="replace"), found)
    return found


def _read_verdicts(lines: Iterable[str], suite: Suite) -> None:
    for verdict in filter(None, map(_VERDICT.fullmatch, lines)):
        suite.tests += 1
        suite.asked += not verdict[3].endswith(f"got '{_UNKNOWN}'")
        suite.passed += verdict[2].lower() == "passed"
        suite.known_passes += verdict[2] in ("passed", "FAILED")


def _read_log(text: str, suite: Suite) -> None:
    """Count the replies of a log, and those to commands that the program does not know."""
    asked = ""
    body = text[text.index("<pre") : text.rindex("</pre>")]
    for line in html.unescape(re.sub(r"<[^>]*>", "", body)).splitlines():
        reply = _REPLY.match(line)
        if reply is not None:
            suite.commands += 1
            if reply[1] == "?" and reply[2] == _UNKNOWN:
                suite.unknown[asked.split()[0]] += 1
        elif line.strip() and not line.startswith("#"):
            asked = re.sub(r"^\d+ ", "", line.strip())


def table(suites: Iterable[Suite]) -> str:
    """Return the lines of a table, with the sums below."""
    found = list(suites)
    total = Suite("all")
    for each in found:
        total.unknown += each.unknown
        for name in ("commands", "tests", "asked", "passed", "known_passes"):
            setattr(total, name, getattr(total, name) + getattr(each, name))
    rows = [list(_HEADINGS), *(each.row() for each in [*found, total])]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    lines = [f"{row[0]:{widths[0]}}  " + "  ".join(map(str.rjust, row[1:], widths[1:])) for row in rows]
    unknown = ", ".join(f"{name} ({count})" for name, count in total.unknown.most_common())
    return "\n".join([*lines, f"unknown commands: {unknown or 'none'}"])


def regress_command() -> list[str] | None:
    """Return the command of gogui-regress, if it is installed or named by GOGUI_REGRESS."""
    command = os.environ.get("GOGUI_REGRESS") or shutil.which("gogui-regress")
    return shlex.split(command) if command else None


def main() -> int:
    """Print the table of the suites that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m tests.clients.regress", description="Run regression suites.")
    parser.add_argument("suites", nargs="*", help="names of suites, such as 9x9 or pachi-fixed; all if none")
    parser.add_argument("--engine", default=f"{sys.executable} keima.py --visits 100", help="a GTP program")
    parser.add_argument("--archive", type=Path, default=ARCHIVE, help="a tar file of suites")
    parser.add_argument("--out", type=Path, help="a folder for gogui-regress's pages")
    parser.add_argument("--jobs", type=int, default=1, help="suites that run at the same time, each with its program")
    given = parser.parse_args()
    command = regress_command()
    if command is None or not given.archive.exists():
        print("skipped: needs GOGUI_REGRESS, the command of gogui-regress, and an archive of suites", file=sys.stderr)
        return 0
    words = [str(Path(word).absolute()) if Path(word).exists() else word for word in shlex.split(given.engine)]
    with tempfile.TemporaryDirectory() as folder:
        out = given.out or Path(folder) / "out"
        out.mkdir(parents=True, exist_ok=True)
        wanted = [each for each in unpack(given.archive, Path(folder)) if not given.suites or each.stem in given.suites]

        def report(suite: Path) -> Suite | None:
            try:
                found = run(command, shlex.join(words), suite, out)
            except RuntimeError as error:
                print(error, file=sys.stderr, flush=True)
                return None
            print(*found.row(), file=sys.stderr, flush=True)
            return found

        with ThreadPoolExecutor(given.jobs) as pool:
            found = list(pool.map(report, wanted))
    print(table(filter(None, found)))
    return 0 if all(found) else 1


if __name__ == "__main__":
    sys.exit(main())
