"""The licenses of Keima and of the packages that it needs, as `keima --licenses` prints them.

The frozen program ships its own in a file that `.ci/third_party.py` wrote with the names here.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

THIRD_PARTY = "THIRD-PARTY.txt"
"""File beside the frozen program with the licenses of all that is inside."""
_HOME = Path(__file__).resolve().parents[2]
"""Folder of the packages: the repository, or the package `keima` of a wheel."""
_DISTRIBUTION = "keima"
_LICENSE_FILE = re.compile(r"(licen[cs]e|copying|notice|authors|copyright)|third[-_]party", re.IGNORECASE)
_RULE = "=" * 100
_NETWORKS = "keima-b6c96, keima-human9, keima-t7c96: networks that Keima ships, trained with data of KataGo"


def licenses() -> Iterator[str]:
    """Yield the license of Keima, that of its networks, and those of the packages that it needs, with a heading each.

    Raises FileNotFoundError where Keima is neither installed nor started from its repository.
    """
    yield section("Keima", _own_license())
    yield section(_NETWORKS, (_HOME / "weights" / "LICENSE.katago").read_text(encoding="utf-8"))
    if getattr(sys, "frozen", False):
        yield (_program_folder() / THIRD_PARTY).read_text(encoding="utf-8")
    else:
        yield from map(license_of, required(_DISTRIBUTION))


def _program_folder() -> Path:
    return Path(sys.executable).resolve().parent


def _own_license() -> str:
    """Return the text of LICENSE, which stands in the repository, in the wheel's metadata or beside the program."""
    folder = _program_folder() if getattr(sys, "frozen", False) else _HOME
    if (folder / "LICENSE").is_file():
        return (folder / "LICENSE").read_text(encoding="utf-8")
    try:
        text = metadata.distribution(_DISTRIBUTION).read_text("licenses/LICENSE")
    except metadata.PackageNotFoundError:
        text = None
    if text is None:
        raise FileNotFoundError(f"{folder / 'LICENSE'}: no such file, and keima is not installed")
    return text


def required(name: str) -> list[metadata.Distribution]:
    """Return the installed packages that a package needs, directly or not and without extras, sorted by name."""
    found: dict[str, metadata.Distribution] = {}
    waiting = [name]
    while waiting:
        try:
            distribution = metadata.distribution(waiting.pop())
        except metadata.PackageNotFoundError:  # needed on another system, or by another version of Python
            continue
        key = normalized(distribution.metadata["Name"])
        if key not in found:
            found[key] = distribution
            needs = [each for each in distribution.requires or () if "extra ==" not in each]
            waiting += [re.split(r"[^\w.-]", each, maxsplit=1)[0] for each in needs]
    found.pop(normalized(name), None)
    return [found[key] for key in sorted(found)]


def normalized(name: str) -> str:
    """Return the name of a package as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def license_of(distribution: metadata.Distribution) -> str:
    """Return the section of an installed package: its name, version, license, address and the texts that it brings."""
    about = distribution.metadata
    classified = _classified(about.get_all("Classifier") or ())
    kind = about["License-Expression"] or classified or about["License"] or "unknown"
    address = next(_addresses(about), "")
    head = f"License: {kind.splitlines()[0]}\n{f'Home: {address}' if address else ''}".rstrip()
    texts = [_text(distribution, path) for path in license_files(distribution)]
    return section(f"{about['Name']} {distribution.version}", "\n\n".join([head, *texts]))


def license_files(distribution: metadata.Distribution) -> list[metadata.PackagePath]:
    """Return the files of licenses and notices in the metadata of a package."""
    files = [path for path in distribution.files or () if path.parts[0].endswith(".dist-info")]
    return [path for path in files if "licenses" in path.parts[1:-1] or _LICENSE_FILE.match(path.name)]


def _classified(classifiers: Iterable[str]) -> str:
    """Return the licenses among the classifiers of a package."""
    return ", ".join(each.rpartition(" :: ")[2] for each in classifiers if each.startswith("License :: "))


def _addresses(about: metadata.PackageMetadata) -> Iterator[str]:
    """Yield the addresses of a package's pages, that of its home first."""
    if about["Home-page"]:
        yield about["Home-page"]
    pairs = [each.partition(", ") for each in about.get_all("Project-URL") or ()]
    yield from (address for label, _, address in sorted(pairs, key=lambda pair: pair[0].lower() != "homepage") if label)


def _text(distribution: metadata.Distribution, path: metadata.PackagePath) -> str:
    return Path(str(distribution.locate_file(path))).read_text(encoding="utf-8", errors="replace").strip("\n")


def section(title: str, text: str) -> str:
    """Return a text under a heading."""
    return f"{_RULE}\n{title}\n{_RULE}\n\n{text.strip(chr(10))}\n\n"
