"""`keima --licenses` prints the license of Keima, of its networks and of every package that it needs."""

import re
import runpy
import sys
from importlib import metadata
from pathlib import Path

import pytest
from click.testing import CliRunner

import keima
from engine.support.licenses import license_files, license_of, normalized, required

ROOT = Path(__file__).resolve().parent.parent.parent
THIRD_PARTY = runpy.run_path(str(ROOT / ".ci" / "third_party.py"))
HEADING = re.compile(r"^=+\n(.+)\n=+$", re.MULTILINE)


def distribution(folder: Path, about: str, files: dict[str, str]) -> metadata.Distribution:
    """Install a package of this metadata and these files of metadata; return it."""
    information = folder / "strange-1.0.dist-info"
    written = {"METADATA": f"Metadata-Version: 2.1\nName: strange\nVersion: 1.0\n{about}\n", **files}
    for name, text in {**written, "RECORD": "".join(f"{information.name}/{name},,\n" for name in written)}.items():
        path = information / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return metadata.PathDistribution(information)


def test_the_licenses_of_keima_its_networks_and_its_packages_are_printed() -> None:
    result = CliRunner().invoke(keima.main, ["--licenses"])
    assert result.exit_code == 0
    assert (ROOT / "LICENSE").read_text() in result.output
    assert (ROOT / "weights" / "LICENSE.katago").read_text() in result.output
    names = {heading.split()[0].lower() for heading in HEADING.findall(result.output)}
    assert {"numpy", "numba", "llvmlite", "openvino", "click", "filelock", "rich", "safetensors", "sgfmill"} <= names
    assert "pytest" not in names
    assert "Redistributions of source code must retain" in result.output


def test_what_is_needed_indirectly_counts_and_extras_do_not() -> None:
    names = {normalized(each.metadata["Name"]) for each in required("keima")}
    assert "markdown-it-py" in names, "rich needs it"
    assert not names & {"keima", "torch", "hypothesis"}


@pytest.mark.parametrize("name", ["LICENSE", "licenses/deep/terms.txt", "COPYING.txt", "NOTICE", "licence.rst"])
def test_the_texts_that_a_package_brings_are_found(name: str, tmp_path: Path) -> None:
    package = distribution(tmp_path, "License-Expression: MIT", {name: "Do as you like.", "entry_points.txt": ""})
    assert [path.as_posix() for path in license_files(package)] == [f"strange-1.0.dist-info/{name}"]
    assert "License: MIT" in license_of(package)
    assert "Do as you like." in license_of(package)


@pytest.mark.parametrize(
    "about",
    [
        "License-Expression: GPL-3.0-or-later",
        "Classifier: License :: OSI Approved :: GNU General Public License v3 (GPLv3)",
        "License: AGPL-3.0",
    ],
)
def test_a_package_under_the_gpl_is_not_frozen(about: str, tmp_path: Path) -> None:
    package = distribution(tmp_path, about, {"LICENSE": "GNU GENERAL PUBLIC LICENSE\n" * 20})
    with pytest.raises(SystemExit, match=r"strange may not be shipped: License: .*GPL"):
        THIRD_PARTY["_of_package"](package)


def test_a_package_without_the_text_of_its_license_is_not_frozen(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="strange brings no text of its license"):
        THIRD_PARTY["_of_package"](distribution(tmp_path, "License: MIT", {}))


def test_a_file_of_unknown_origin_is_not_frozen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = metadata.distribution("click")
    monkeypatch.setattr(metadata, "distribution", lambda name: installed)  # PyInstaller may not be here
    stranger = tmp_path / "libstrange.so.1"
    stranger.touch()
    with pytest.raises(SystemExit, match=r"libstrange\.so\.1: no package is known"):
        THIRD_PARTY["third_party"]([stranger, Path(sys.executable)])
