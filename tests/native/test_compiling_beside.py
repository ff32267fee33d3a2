"""Kernels that are not in the cache are compiled in a second process; nothing is started where they are."""

import sys
from pathlib import Path

import pytest

from engine.native import compiling_beside
from engine.native.compiling_beside import CompilingBeside

NAMES = ("infer_rows", "write_evaluation")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a module that another process imports, beside an empty cache of kernels on two cores."""
    (tmp_path / "cache").mkdir()
    monkeypatch.setattr(compiling_beside, "cache_directory", lambda: tmp_path / "cache")
    monkeypatch.setattr(compiling_beside, "usable_cores", lambda: 2)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    code = (
        f"def compile_all():\n    open({str(tmp_path / 'compiled')!r}, 'w').close()\n\ndef fail():\n    raise OSError\n"
        f"def go_on():\n    import time\n    for name in {NAMES}:\n"
        f"        open({str(tmp_path / 'cache')!r} + f'/kernels.{{name}}-12.py311.0.nbc', 'w').close()\n"
        f"    time.sleep(600)\n    compile_all()\n"
    )
    (tmp_path / "module_beside.py").write_text(code)
    return tmp_path


def test_what_is_not_cached_is_compiled_in_another_process(folder: Path) -> None:
    for name in ("infer_rows", "write_evaluation_too"):
        (folder / "cache" / f"kernels.{name}-12.py311.0.nbc").touch()
    beside = CompilingBeside(NAMES, "module_beside", "compile_all")
    beside.wait()
    assert (folder / "compiled").exists()
    beside.close()


def test_nothing_is_started_where_the_kernels_are_cached(folder: Path) -> None:
    for name in NAMES:
        (folder / "cache" / f"kernels.{name}-12.py311.0.nbc").touch()
    beside = CompilingBeside(NAMES, "module_beside", "compile_all")
    beside.wait()
    beside.close()
    assert not (folder / "compiled").exists()


def test_nothing_is_started_on_one_core_and_without_a_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling_beside, "usable_cores", lambda: 1)
    CompilingBeside(NAMES, "module_beside", "compile_all").wait()
    monkeypatch.setattr(compiling_beside, "usable_cores", lambda: 2)
    monkeypatch.setattr(compiling_beside, "cache_directory", lambda: None)
    CompilingBeside(NAMES, "module_beside", "compile_all").wait()
    assert not (folder / "compiled").exists()


def test_nothing_is_started_where_its_results_cannot_be_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "file").touch()
    monkeypatch.setattr(compiling_beside, "cache_directory", lambda: folder / "file" / "cache")
    CompilingBeside(NAMES, "module_beside", "compile_all").wait()
    assert not (folder / "compiled").exists()


def test_a_wait_for_named_kernels_ends_before_the_other_process_does(folder: Path) -> None:
    beside = CompilingBeside(NAMES, "module_beside", "go_on")
    beside.wait(NAMES)
    beside.close()
    assert {path.name.split("-")[0] for path in (folder / "cache").iterdir()} == {f"kernels.{name}" for name in NAMES}
    assert not (folder / "compiled").exists()


@pytest.mark.parametrize("function", ["fail", "no_such_function"])
def test_the_failure_of_the_other_process_is_ignored(folder: Path, function: str) -> None:
    beside = CompilingBeside(NAMES, "module_beside", function)
    beside.wait()
    beside.close()
