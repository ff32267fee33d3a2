"""Write the licenses of all that PyInstaller collected: of packages, of Python and of the system's libraries.

Called by keima.spec. A file of unknown origin and a package under the GPL end the build: neither may be shipped.
"""

import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from engine.support.licenses import license_of, normalized, required, section

ROOT = Path(__file__).resolve().parent.parent
TEXTS = ROOT / ".ci" / "licenses"
"""Texts that the packages do not bring: python.txt is of the software in Python, the others are named like packages."""
MAY_BE_GPL = {"pyinstaller"}
"""Its license allows programs under any license to contain its start-up code."""
COMMON = re.compile(r"/usr/share/common-licenses/([\w+-]+(?:\.[\w+-]+)*)")
"""How Debian's copyright files refer to licenses that many packages have."""


class LicenseError(SystemExit):
    """Something may not be shipped."""


def third_party(files: Iterable[Path]) -> str:
    """Return the licenses of the packages and libraries that the files come from."""
    owners = _owners()
    python = [Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")]
    if sys.base_prefix != "/usr":  # where Python shares the folder with everything else
        python.append(Path(sys.base_prefix).resolve())
    packages = {normalized(each.metadata["Name"]): each for each in required("keima")}
    packages["pyinstaller"] = metadata.distribution("pyinstaller")
    system: dict[str, str] = {}
    for file in {each.resolve() for each in files}:
        if file in owners:
            packages[normalized(owners[file].metadata["Name"])] = owners[file]
        elif not any(file.is_relative_to(folder) for folder in (ROOT, *python)):
            name, text = _of_system(file)
            system[name] = text
    packages.pop("keima", None)
    parts = [_of_python(), *(_of_package(packages[name]) for name in sorted(packages))]
    parts += [section(name, system[name]) for name in sorted(system)]
    common = sorted({name for text in system.values() for name in COMMON.findall(text)})
    parts += [section(f"{name}, to which the texts above refer", _common(name)) for name in common]
    return "".join(parts)


def _owners() -> dict[Path, metadata.Distribution]:
    """Return the package that each installed file belongs to."""
    return {
        Path(str(distribution.locate_file(path))).resolve(): distribution
        for distribution in metadata.distributions()
        for path in distribution.files or ()
    }


def _of_python() -> str:
    """Return the license of Python and of the software in it."""
    texts = [Path(folder, "LICENSE.txt") for folder in (sysconfig.get_path("stdlib"), sys.base_prefix)]
    own = [path.read_text(encoding="utf-8") for path in texts if path.is_file()][:1]
    inside = (TEXTS / "python.txt").read_text(encoding="utf-8")
    return section(f"Python {sys.version.split()[0]}", "\n\n".join([*own, inside]))


def _of_package(distribution: metadata.Distribution) -> str:
    """Return the license of a package. Raises LicenseError where it is the GPL or has no text."""
    name = normalized(distribution.metadata["Name"])
    text, extra = license_of(distribution), TEXTS / f"{name}.txt"
    kind = next(line for line in text.splitlines() if line.startswith("License: "))
    if re.search(r"\bA?GPL|GNU (Affero )?General Public", kind) and name not in MAY_BE_GPL:
        raise LicenseError(f"{name} may not be shipped: {kind}")
    if extra.is_file():
        text += extra.read_text(encoding="utf-8") + "\n\n"
    elif text.count("\n") < 10:
        raise LicenseError(f"{name} brings no text of its license: put it into {extra}")
    return text


def _of_system(file: Path) -> tuple[str, str]:
    """Return the name and the copyright file of the system's package of a library. Raises LicenseError if unknown."""
    for path in (file, Path("/", *file.parts[2:])):  # where /lib is a link to /usr/lib, dpkg may know either
        try:
            found = subprocess.run(["dpkg", "-S", str(path)], capture_output=True, text=True)
        except OSError:
            break
        if found.returncode == 0:
            name = found.stdout.split(":")[0]
            return name, Path("/usr/share/doc", name, "copyright").read_text(encoding="utf-8", errors="replace")
    raise LicenseError(f"{file}: no package is known whose license it has")


def _common(name: str) -> str:
    return Path("/usr/share/common-licenses", name).read_text(encoding="utf-8")
