"""What tells networks of one name apart, so that a run goes on with the one that it began with."""

import hashlib
from pathlib import Path


def network_identity(file: Path, profile: str | None) -> str:
    """Return a network file's name with a digest of its bytes and whom it imitates. Raises OSError."""
    with file.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()[:16]
    return f"{file.name} {digest}" + ("" if profile is None else f" as {profile}")
