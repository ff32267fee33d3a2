"""The command `keima train convert`: KataGo's training rows to samples, and samples to KataGo's rows."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import click

from engine.settings.command import Command
from engine.settings.options import options_of

_SHARD = 16_384
"""Samples in a file."""


@click.command("convert", cls=Command)
@click.argument("source", metavar="IN", type=click.Path(exists=True, path_type=Path))
@options_of("train convert")
def convert_command(source: Path, out: Path) -> None:
    """Convert KataGo's training rows (.npz) to samples, or samples to KataGo's rows.

    IN is a file or a directory. The directory of --out receives samples for `keima train run --samples` where IN has
    .npz files, else a .npz file for each file of samples.
    """
    sys.exit(cli_convert_samples(source, out, sys.stdout, sys.stderr))


def cli_convert_samples(source: Path, out: Path, stdout: IO[str], stderr: IO[str]) -> int:
    """Convert, print the number of rows and return the exit status 0. Raises GoError, OSError."""
    from engine.errors import GoError
    from engine.support.progress import ProgressBar
    from engine.support.run_kinds import SAMPLES, claimed_run
    from engine.train.data.katago_npz import SUFFIX as NPZ
    from engine.train.data.katago_npz import read_npz
    from engine.train.data.record_shards import Shards
    from engine.train.data.samples import SUFFIX

    found = {suffix: [source] if source.is_file() else sorted(source.rglob(f"*{suffix}")) for suffix in (NPZ, SUFFIX)}
    rows = [path for path in found[NPZ] if path.suffix == NPZ]
    samples = [path for path in found[SUFFIX] if path.suffix == SUFFIX]
    if not rows and not samples:
        raise GoError(f"{source}: neither rows of KataGo ({NPZ}) nor samples ({SUFFIX})")
    count = 0
    with claimed_run(out, SAMPLES), ProgressBar(stderr) as bar:
        if rows:
            shards = Shards(out, _SHARD, {"made by": "keima train convert", "rows": source.name})
            with shards.whole():
                for done, path in enumerate(rows, 1):
                    for part in read_npz(path):
                        shards.add(part)
                        count += len(part)
                    bar.update(f"{count:,} rows", done, len(rows))
        else:
            for done, rows_of_file in enumerate(_write_rows(source, samples, out), 1):
                count += rows_of_file
                bar.update(f"{count:,} rows", done, len(samples))
    stdout.write(f"{out}: {count:,} rows of {len(rows or samples)} files\n")
    return 0


def _write_rows(source: Path, samples: Sequence[Path], out: Path) -> Iterator[int]:
    """Write KataGo's rows for each file of samples; yield the number of its rows. All files are written, or none.

    Raises GoError, before anything is written, if files would be mixed or must not be trained on.
    """
    from engine.errors import GoError
    from engine.train.data.held_out import HELD_OUT
    from engine.train.data.katago_npz import SUFFIX, write_npz
    from engine.train.data.samples import read_shard, shard_info

    if any(out.glob(f"*{SUFFIX}")):
        raise GoError(f"{out} already contains rows ({SUFFIX}): remove them, or use another folder")
    targets: dict[Path, Path] = {}
    for path in samples:
        if HELD_OUT in shard_info(path).provenance:
            # KataGo's format has no place for this mark, by which training refuses them.
            raise GoError(f"{path}: contains samples of held-out games, which must not be trained on")
        name = "-".join(path.relative_to(source if source.is_dir() else source.parent).with_suffix("").parts)
        target = out / f"{name}{SUFFIX}"
        if target in targets:
            raise GoError(
                f"{path} and {targets[target]} would both become {target}: convert them into folders of their own"
            )
        targets[target] = path
    try:
        for target, path in targets.items():
            part = read_shard(path)
            yield write_npz(target, [part]) if len(part) else 0
    except BaseException:
        for target in targets:
            target.unlink(missing_ok=True)
        raise
