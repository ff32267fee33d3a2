"""Pack dist/keima under the name of a release: keima-VERSION-SYSTEM-MACHINE.tar.xz, or .zip on Windows.

Prints the file's path.
"""

import platform
import shutil
import sys
from pathlib import Path

from engine import __version__

DIST = Path(__file__).resolve().parent.parent / "dist"
SYSTEMS = {"darwin": "macos", "win32": "windows"}
MACHINES = {"amd64": "x86_64", "aarch64": "arm64"}


def name() -> str:
    """Return the name of this machine's archive, without the ending."""
    machine = platform.machine().lower()
    return f"keima-{__version__}-{SYSTEMS.get(sys.platform, sys.platform)}-{MACHINES.get(machine, machine)}"


def main() -> int:
    """Pack the folder."""
    kind = "zip" if sys.platform == "win32" else "xztar"
    sys.stdout.write(shutil.make_archive(str(DIST / name()), kind, DIST, "keima") + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
