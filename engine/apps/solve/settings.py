"""The settings of a run of `keima solve`. Imports nothing heavy."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class SolveSettings:
    """Everything that the answers depend on, and the number of problems.

    visits: numbers of visits at which the move is recorded, ascending. network, identity: of the evaluator.
    search: search parameters that are not the defaults. limit: number of problems drawn by the seed, None for all.
    prove: whether proofs are looked for.
    """

    file: Path
    visits: tuple[int, ...]
    framed: bool = True
    network: str = ""
    identity: str = ""
    search: tuple[tuple[str, str], ...] = ()
    seed: int = 1
    limit: int | None = None
    prove: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the settings that must be equal to continue a run: all but the limit; the file by its content."""
        import hashlib

        return {
            "problems": self.file.name,
            "problems_sha256": hashlib.sha256(self.file.read_bytes()).hexdigest(),
            "visits": list(self.visits),
            "framed": self.framed,
            "network": self.identity,
            "search": dict(self.search),
            "seed": self.seed,
            **({"prove": True} if self.prove else {}),
        }
