"""What a run of `keima solve` is asked to do. Imports nothing heavy."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class SolveSettings:
    """Everything that answers depend on, and how many problems are wanted.

    visits: at which answers are read, ascending. network: what judges positions, by name.
    search: settings of the search that are not the defaults. limit: problems drawn by the seed, None for all.
    """

    file: Path
    visits: tuple[int, ...]
    framed: bool = True
    network: str = ""
    search: tuple[tuple[str, str], ...] = ()
    seed: int = 1
    limit: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return what must be equal for a run to go on: all but the limit; the file by its content."""
        import hashlib

        return {
            "problems": self.file.name,
            "problems_sha256": hashlib.sha256(self.file.read_bytes()).hexdigest(),
            "visits": list(self.visits),
            "framed": self.framed,
            "network": self.network,
            "search": dict(self.search),
            "seed": self.seed,
        }
