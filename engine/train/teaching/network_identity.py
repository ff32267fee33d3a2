"""Identifies networks by content, so that a resumed run uses the network that it began with."""

from pathlib import Path

from engine.support.files import digest_of


def network_identity(file: Path, profile: str | None) -> str:
    """Return a network file's name with a digest of its contents and the player profile. Raises OSError."""
    return f"{file.name} {digest_of(file)}" + ("" if profile is None else f" as {profile}")
