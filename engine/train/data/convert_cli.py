"""The command `keima train convert`: KataGo's training rows to samples, and samples to KataGo's rows."""

import sys
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
    from engine.support.files import claimed
    from engine.support.progress import ProgressBar
    from engine.train.data.katago_npz import SUFFIX as NPZ
    from engine.train.data.katago_npz import read_npz, write_npz
    from engine.train.data.record_shards import Shards
    from engine.train.data.samples import SUFFIX, read_shard

    found = {suffix: [source] if source.is_file() else sorted(source.rglob(f"*{suffix}")) for suffix in (NPZ, SUFFIX)}
    rows = [path for path in found[NPZ] if path.suffix == NPZ]
    samples = [path for path in found[SUFFIX] if path.suffix == SUFFIX]
    if not rows and not samples:
        raise GoError(f"{source}: neither rows of KataGo ({NPZ}) nor samples ({SUFFIX})")
    count = 0
    with claimed(out), ProgressBar(stderr) as bar:
        if rows:
            shards = Shards(out, _SHARD, {"made by": "keima train convert", "rows": source.name})
            with shards.whole():
                for done, path in enumerate(rows, 1):
                    for part in read_npz(path):
                        shards.add(part)
                        count += len(part)
                    bar.update(f"{count:,} rows", done, len(rows))
        else:
            for done, path in enumerate(samples, 1):
                name = "-".join(path.relative_to(source if source.is_dir() else source.parent).with_suffix("").parts)
                count += write_npz(out / f"{name}{NPZ}", [read_shard(path)])
                bar.update(f"{count:,} rows", done, len(samples))
    stdout.write(f"{out}: {count:,} rows of {len(rows or samples)} files\n")
    return 0
