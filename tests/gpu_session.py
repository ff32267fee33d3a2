"""A session on a machine with a GPU that is lent for a while: measure first, then learn from nothing until it ends.

python -m tests.gpu_session OUT [--minutes 45] [--device cuda] [--preset 9x9-gpu] [--size 9] [--state-mib 200]
                            [--set SECTION.KEY=VALUE ...]

1. What the machine is, and whether every output of the default network is right on it (`keima net check`).
2. Its speed: evaluations and visits (`keima bench`), training (`keima train bench`), self-play with one process, with
   half as many as there are cores, and with one a core. At most a quarter of the time; what takes too long is cut off.
3. `keima zero` with as many processes as were fastest, until the time is over.
4. OUT/results.tar.gz: all figures, reports, pictures, and the newest network. OUT/state.tar: what continues the run.

A later session with the same OUT, or with an OUT that has only the two files, measures only what is missing or was
measured on another device, and continues the run. The journal is OUT/session.jsonl.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from engine.support.files import append_line, read_object, whole_lines, write_atomically
from engine.support.stopping import INTERRUPTED, stopping
from engine.train.generations.zero_state import Clock

JOURNAL, RESULTS, STATE, RUN = "session.jsonl", "results.tar.gz", "state.tar", "run"
MEASURING = 0.25
"""Share of the time for measurements."""
PACKING = 0.06
"""Share of the time that is left to stop the run and to pack."""
TIMED_OUT = 124
_POLL_SECONDS = 0.2
# Time for a measurement to end after it was interrupted; a run of `keima zero` has the rest of the session.
_PATIENCE_SECONDS = 20.0
_DESCRIBE = """
import json, os, platform
import torch
gpus = [torch.cuda.get_device_name(each) for each in range(torch.cuda.device_count())]
memory = [torch.cuda.get_device_properties(each).total_memory for each in range(len(gpus))]
print(json.dumps({"gpus": gpus, "gpu_bytes": memory, "cores": len(os.sched_getaffinity(0)),
                  "torch": torch.__version__, "cuda": torch.version.cuda, "machine": platform.processor()}))
"""


class Stage(NamedTuple):
    """A measurement: arguments of Keima, whose output is kept in OUT. share: of the time for all measurements."""

    name: str
    words: list[str]
    share: float

    @property
    def file(self) -> str:
        """The name of the file of its output."""
        return f"{self.name}.{'json' if '--json' in self.words else 'txt'}"


class Session:
    """A session in a folder. seconds: its length. stop: ends it early."""

    def __init__(self, out: Path, seconds: float, device: str, stop: threading.Event) -> None:
        self.out, self.seconds, self.device = out, seconds, device
        self._stop, self._begun = stop, time.monotonic()
        (out / "logs").mkdir(parents=True, exist_ok=True)

    def left(self, share: float = 1.0) -> float:
        """Return the seconds until a share of the session is over."""
        return share * self.seconds - (time.monotonic() - self._begun)

    def note(self, name: str, status: int, seconds: float, words: Iterable[str]) -> None:
        """Add a line to the journal."""
        line = {"stage": name, "device": self.device, "exit": status, "seconds": round(seconds, 1)}
        append_line(self.out / JOURNAL, json.dumps(line | {"command": " ".join(words)}))
        sys.stderr.write(f"{name}: exit {status} after {seconds:.0f} s, {self.left() / 60:.1f} minutes left\n")

    def is_done(self, stage: Stage) -> bool:
        """Return whether a session on such a device has made the measurement."""
        found = (self.out / stage.file).exists()
        wanted = (stage.name, self.device, 0, " ".join(stage.words))
        lines = map(json.loads, whole_lines(self.out / JOURNAL))
        return found and any(
            tuple(line[key] for key in ("stage", "device", "exit", "command")) == wanted for line in lines
        )

    def perform(self, name: str, words: list[str], seconds: float, output: Path | None = None) -> int:
        """Run a command of Keima for at most some seconds, then interrupt it, and return its exit status.

        output: file for its standard output; without, both streams go to the log.
        """
        begun, log = time.monotonic(), self.out / "logs" / f"{name}.txt"
        draft = None if output is None else output.with_suffix(".part")
        with log.open("ab") as errors, (draft or log).open("ab" if draft is None else "wb") as printed:
            command = [sys.executable, "-m", "keima", *words]
            null = subprocess.DEVNULL
            process = subprocess.Popen(command, stdin=null, stdout=printed, stderr=errors, start_new_session=True)
            is_late = self._wait(process, begun + seconds, is_run=output is None)
        status = process.returncode
        if draft is not None and output is not None:
            # Self-play, which goes on until it is interrupted, prints its figures then.
            ended = (0, INTERRUPTED) if is_late else (0,)
            is_whole = status in ended and not (is_late and draft.stat().st_size == 0)
            status = 0 if is_whole else TIMED_OUT if is_late else status
            draft.replace(output) if is_whole else draft.unlink()
        self.note(name, status, time.monotonic() - begun, words)
        return status

    def _wait(self, process: "subprocess.Popen[bytes]", until: float, is_run: bool) -> bool:
        """Wait for a process, which is interrupted at a moment and killed if it ignores that; return if it was."""
        while process.poll() is None and time.monotonic() < until and not self._stop.is_set():
            time.sleep(_POLL_SECONDS)
        if process.poll() is not None:
            return False
        process.send_signal(signal.SIGINT)
        try:
            rest = self.left() - PACKING * self.seconds / 2 if is_run else 0.0
            process.wait(max(_PATIENCE_SECONDS, rest))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return True


def stages(device: str, size: int, cores: int, out: Path) -> list[Stage]:
    """Return the measurements in their order."""
    backend = ["--backend", "torch"] if device == "cuda" else []
    found = [
        Stage("check", ["net", "check", "keima-t7c96", *backend], 0.15),
        Stage("bench", ["bench", "--size", str(size), "--runs", "1", "--json", *backend], 0.25),
        Stage("train", ["train", "bench", "--size", str(size), "--runs", "1", "--device", device, "--json"], 0.15),
    ]
    counts = sorted({1, max(1, cores // 2), cores})
    for count in counts:
        words = ["selfplay", str(out / f"selfplay-{count}"), "--net", "keima-t7c96", "--size", str(size), "--json"]
        words += ["--processes", str(count), *backend]
        words += ["--set", "full_visits=100", "--set", "quick_visits=20"]
        found.append(Stage(f"selfplay-{count}", words, 0.45 / len(counts)))
    return found


def fastest(out: Path, cores: int) -> int:
    """Return the number of self-play processes that computed most evaluations a second; `cores` if none is known."""
    rates = {}
    for path in out.glob("selfplay-*.json"):
        rate = read_object(path).get("evaluations_per_s")
        if rate:
            rates[int(path.stem.removeprefix("selfplay-"))] = rate
    return max(rates, key=lambda count: rates[count]) if rates else cores


def zero_words(out: Path, options: Mapping[str, Any], processes: int, seconds: float) -> list[str]:
    """Return the command that begins or continues the run, and ends after some seconds."""
    run = out / RUN
    words = ["zero", str(run)] + ([] if (run / "config.toml").exists() else ["--preset", options["preset"]])
    used = Clock(run / "clock.json").hours
    words += ["--hours", f"{used + seconds / 3600:.5f}", "--set", f"evaluator.processes={processes}"]
    words += ["--set", f"train.device={options['device']}"]
    if options["device"] == "cuda":
        words += ["--set", "evaluator.backend=torch"]
    return words + [part for setting in options["settings"] for part in ("--set", setting)]


def pack(out: Path, state_mib: float) -> None:
    """Write the results, and what continues the run unless that is larger than `state_mib` MiB."""
    run = out / RUN
    newest = sorted((run / "nets").glob("gen-*.safetensors"))[-1:]
    draft = out / f"{RESULTS}.part"
    files = [path for path in sorted(out.rglob("*")) if path.is_file() and _is_result(path.relative_to(out).parts)]
    with tarfile.open(draft, "w:gz") as archive:
        for path in files + newest:
            archive.add(path, str(path.relative_to(out)))
    draft.replace(out / RESULTS)
    size = sum(path.stat().st_size for path in run.rglob("*") if path.is_file()) / 2**20
    if not run.exists() or size > state_mib:
        sys.stderr.write(f"{STATE}: not written, because {RUN} has {size:.0f} MiB; bring the folder itself back\n")
        return
    draft = out / f"{STATE}.part"
    with tarfile.open(draft, "w") as archive:
        archive.add(run, RUN)
    draft.replace(out / STATE)


def _is_result(parts: Sequence[str]) -> bool:
    """Return whether a file says something about a session: no samples, checkpoints, archives, games to measure."""
    if parts[0] == RUN:
        return not {"samples", "nets", "checkpoints", "tensorboard", "spool"} & set(parts[1:-1])
    return parts[0] == "logs" or (len(parts) == 1 and not parts[0].startswith((RESULTS, STATE)))


def unpack(out: Path) -> None:
    """Restore the run of an earlier session, if only its archive is here."""
    if (out / STATE).exists() and not (out / RUN).exists():
        with tarfile.open(out / STATE) as archive:
            archive.extractall(out, filter="data")
    if (out / RESULTS).exists() and not (out / JOURNAL).exists():
        with tarfile.open(out / RESULTS) as archive:
            # The run's own files are in its archive.
            kept = [each for each in archive.getmembers() if not each.name.startswith(f"{RUN}/")]
            archive.extractall(out, kept, filter="data")


def described(out: Path) -> dict[str, Any]:
    """Return what the machine is, and keep it as OUT/machine.json."""
    found = subprocess.run([sys.executable, "-c", _DESCRIBE], capture_output=True, text=True, check=True)
    write_atomically(out / "machine.json", found.stdout)
    return dict(json.loads(found.stdout))


def main() -> int:
    """Perform the session, and return 0, or 130 if it was interrupted."""
    parser = argparse.ArgumentParser(prog="python -m tests.gpu_session")
    parser.add_argument("out", type=Path)
    parser.add_argument("--minutes", type=float, default=45.0)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--preset", default="9x9-gpu", help="of keima zero, for the first session of OUT")
    parser.add_argument("--size", type=int, default=9, help="side of the board to measure on")
    parser.add_argument("--state-mib", type=float, default=200.0, help="largest state.tar that is written")
    parser.add_argument("--set", action="append", default=[], dest="settings", metavar="SECTION.KEY=VALUE")
    options = parser.parse_args()
    out: Path = options.out
    out.mkdir(parents=True, exist_ok=True)
    unpack(out)
    machine = described(out)
    if options.device == "cuda" and not machine["gpus"]:
        parser.error("PyTorch finds no GPU here; --device cpu tries the session without one")
    with stopping() as stop:
        name = machine["gpus"][0] if options.device == "cuda" else "cpu"
        session = Session(out, 60 * options.minutes, name, stop)
        measure(session, stages(options.device, options.size, machine["cores"], out))
        seconds = session.left(1 - PACKING)
        if seconds > 0 and not stop.is_set():
            words = zero_words(out, vars(options), fastest(out, machine["cores"]), seconds)
            session.perform("zero", words, session.left(1 - PACKING / 2))
        pack(out, options.state_mib)
        return INTERRUPTED if stop.is_set() else 0


def measure(session: Session, wanted: Iterable[Stage]) -> None:
    """Make the measurements that are missing, each within its share of the time."""
    for stage in wanted:
        seconds = min(session.left(MEASURING), stage.share * MEASURING * session.seconds)
        if seconds > 0 and not session.is_done(stage):
            session.perform(stage.name, stage.words, seconds, session.out / stage.file)


if __name__ == "__main__":
    raise SystemExit(main())
