"""Identifies networks by content, so that a resumed run uses the network that it began with."""

import hashlib
from pathlib import Path


def network_identity(file: Path, profile: str | None) -> str:
    """Return a network file's name with a digest of its contents and the player profile. Raises OSError."""
    with file.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()[:16]
    return f"{file.name} {digest}" + ("" if profile is None else f" as {profile}")
