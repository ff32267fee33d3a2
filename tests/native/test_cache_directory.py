"""Compiled kernels are kept on disk, found again, made anew after a change, and never a reason to fail."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.native.cache_directory import remove_old_caches, source_key
from engine.native.frozen import LEVELS, LINKS_KERNELS, library_name
from engine.native.jit import kernel
from engine.native.linking import frozen_files

ROOT = Path(__file__).resolve().parents[2]
ONE_KERNEL = """
from engine.native.cache_directory import cache_directory
from engine.native.jit import kernel
from engine.native.progress import compilations

@kernel
def add(a, b):
    return a + b

checks = compilations()  # of the self-check
print(add(1, 2), compilations() - checks, cache_directory())
"""


def run_one_kernel(folder: Path, **environment: str | None) -> subprocess.CompletedProcess[str]:
    """Compile or load one kernel in a process of its own; a variable given as None is absent there."""
    script = folder / "one_kernel.py"
    script.write_text(ONE_KERNEL)
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_DISABLE_JIT": "0", **environment}
    given = {name: value for name, value in variables.items() if value is not None}
    return subprocess.run(
        [sys.executable, str(script)], env=given, cwd=folder, capture_output=True, text=True, check=True, timeout=120
    )


def test_a_kernel_is_compiled_once_and_then_loaded(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = run_one_kernel(tmp_path, KEIMA_CACHE=str(cache))
    second = run_one_kernel(tmp_path, KEIMA_CACHE=str(cache))
    [directory] = cache.iterdir()
    assert first.stdout == f"3 1 {directory}\n"
    assert second.stdout == f"3 0 {directory}\n"
    assert first.stderr == "keima: compiling kernels, once after each update; this takes about a minute ...\n"
    assert second.stderr == ""


def test_kernels_that_check_indices_are_kept_apart(tmp_path: Path) -> None:
    plain = run_one_kernel(tmp_path, KEIMA_CACHE=str(tmp_path), NUMBA_BOUNDSCHECK="0").stdout
    checked = run_one_kernel(tmp_path, KEIMA_CACHE=str(tmp_path), NUMBA_BOUNDSCHECK="1").stdout
    assert plain.startswith("3 1 ") and checked.startswith("3 1 ")
    assert checked == plain.replace("\n", "-checked\n")


def test_kernels_compiled_with_other_settings_of_numba_are_kept_apart(tmp_path: Path) -> None:
    usual = run_one_kernel(tmp_path, KEIMA_CACHE=str(tmp_path)).stdout
    little = run_one_kernel(tmp_path, KEIMA_CACHE=str(tmp_path), NUMBA_OPT="1").stdout
    assert little == usual.replace("\n", "-opt1\n")
    assert usual.startswith("3 1 ")


def test_kernels_that_numba_cannot_keep_are_compiled_all_the_same(tmp_path: Path) -> None:
    done = run_one_kernel(tmp_path, KEIMA_CACHE=str(tmp_path), NUMBA_OPT="0")
    assert done.stdout.startswith("3 ")
    assert "does not work as expected" not in done.stderr


@pytest.mark.parametrize("damage", [lambda data: data[:10], lambda data: b"", lambda data: data.replace(b"o", b":")])
@pytest.mark.parametrize("damaged", [["nbc"], ["nbc", "bc"]], ids=["machine code", "machine code and bitcode"])
def test_a_damaged_cache_file_is_compiled_again(
    tmp_path: Path, damage: Callable[[bytes], bytes], damaged: list[str]
) -> None:
    cache = tmp_path / "cache"
    run_one_kernel(tmp_path, KEIMA_CACHE=str(cache))
    [directory] = cache.iterdir()
    for suffix in damaged:
        [data] = directory.glob(f"one_kernel.add*.{suffix}")
        data.write_bytes(damage(data.read_bytes()))
    assert run_one_kernel(tmp_path, KEIMA_CACHE=str(cache)).stdout.startswith("3 1 ")
    assert run_one_kernel(tmp_path, KEIMA_CACHE=str(cache)).stdout.startswith("3 0 ")


@pytest.mark.parametrize("count", [40, pytest.param(1000, marks=pytest.mark.slow)])
def test_damaged_machine_code_is_noticed_and_never_run(tmp_path: Path, count: int) -> None:
    given = {**os.environ, "NUMBA_DISABLE_JIT": "0", "KEIMA_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "tests.native.damaged_cache", str(count)]
    done = subprocess.run(command, env=given, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{count} damages: ")
    assert done.stderr.count("are compiled again: a checksum is wrong") == 1


def test_two_processes_that_begin_a_cache_together_both_succeed(tmp_path: Path) -> None:
    script = tmp_path / "one_kernel.py"
    script.write_text(ONE_KERNEL)
    given = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_DISABLE_JIT": "0", "KEIMA_CACHE": str(tmp_path / "cache")}
    started = [subprocess.Popen([sys.executable, str(script)], env=given, stdout=subprocess.PIPE) for _ in range(3)]
    assert all(process.communicate(timeout=120)[0].startswith(b"3 ") for process in started)
    assert run_one_kernel(tmp_path, KEIMA_CACHE=str(tmp_path / "cache")).stdout.startswith("3 0 ")


@pytest.mark.skipif(os.name != "posix", reason="asks for POSIX permissions")
def test_the_cache_is_for_this_user_alone(tmp_path: Path) -> None:
    run_one_kernel(tmp_path, KEIMA_CACHE=str(tmp_path / "cache"))
    [directory] = (tmp_path / "cache").iterdir()
    assert [each.stat().st_mode & 0o777 for each in (tmp_path / "cache", directory)] == [0o700, 0o700]


@pytest.mark.skipif(os.name != "posix", reason="asks for POSIX permissions")
def test_a_cache_that_others_can_change_is_refused_in_one_line(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    for folder in (shared, shared / "below"):
        refused = run_one_kernel(tmp_path, KEIMA_CACHE=str(folder))
        assert refused.stdout == "3 1 None\n"
        assert (
            refused.stderr.splitlines()[0] == f"nothing is cached in {folder}: {shared} can be written by other users"
        )
        assert "compiling kernels" in refused.stderr.splitlines()[1]
        assert not list(shared.iterdir())
    shared.chmod(0o1777)  # as /tmp: what is below belongs to whoever made it
    assert run_one_kernel(tmp_path, KEIMA_CACHE=str(shared / "below")).stderr.count("nothing is cached") == 0


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give a folder away")
def test_a_cache_of_another_user_is_refused_in_one_line(tmp_path: Path) -> None:
    run_one_kernel(tmp_path, KEIMA_CACHE=str(tmp_path / "cache"))
    [directory] = (tmp_path / "cache").iterdir()
    for folder in (directory, tmp_path / "cache"):
        os.chown(folder, 12345, 12345)
        refused = run_one_kernel(tmp_path, KEIMA_CACHE=str(tmp_path / "cache"))
        assert refused.stdout == "3 1 None\n"
        assert refused.stderr.splitlines()[0].endswith(f"{folder} belongs to another user")


def test_an_unwritable_cache_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory can be made below a file, not even by root")
    result = run_one_kernel(tmp_path, KEIMA_CACHE=str(tmp_path / "file" / "cache"))
    assert result.stdout.startswith("3 1 ")
    assert result.stderr.count("compiled kernels cannot be written") == 1


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="kernels are plain Python here")
def test_every_overload_has_a_file_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEIMA_CACHE", str(tmp_path))
    for number in (1, 2.5):  # as two processes do that know nothing of each other
        assert kernel(add)(number, number) == 2 * number
    [directory] = tmp_path.iterdir()
    files = sorted(each.suffix for each in directory.iterdir())
    assert files == [".bc", ".bc", ".nbc", ".nbc"]
    again = kernel(add)
    assert (again(1.5, 2.25), again(1, 2)) == (3.75, 3)
    assert sorted(each.suffix for each in directory.iterdir()) == files


def add(a: float, b: float) -> float:
    return a + b


def test_a_user_without_a_home_is_no_failure(tmp_path: Path) -> None:
    homeless = tmp_path / "homeless"
    homeless.mkdir()
    # Python asks this module for every process that it starts.
    (homeless / "sitecustomize.py").write_text(
        "from pathlib import Path\ndef home(): raise RuntimeError('no home')\nPath.home = home\n"
    )
    result = run_one_kernel(tmp_path, KEIMA_CACHE=None, PYTHONPATH=f"{homeless}{os.pathsep}{ROOT}")
    assert result.stdout == "3 1 None\n"


def make_tree(root: Path) -> dict[str, Path]:
    """Write a small `engine` with one kernel, a module of constants that it uses and one that it does not."""
    kernel = (
        "from engine.native.jit import kernel\nfrom engine.board import (\n    layout,\n)\n@kernel\ndef f(): pass\n"
    )
    sources = {
        "kernels.py": kernel,
        "native/jit.py": "",
        "board/__init__.py": "",
        "board/layout.py": "from engine.color import EMPTY\n",
        "color.py": "EMPTY = 0\n",
        "players.py": "from engine.kernels import f\n",
    }
    for name, text in sources.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return {name: root / name for name in sources}


@pytest.mark.parametrize("name", ["kernels.py", "native/jit.py", "board/__init__.py", "board/layout.py", "color.py"])
def test_a_change_of_what_a_kernel_uses_changes_the_key(tmp_path: Path, name: str) -> None:
    files = make_tree(tmp_path / "engine")
    before = source_key(tmp_path / "engine")
    files[name].write_text(files[name].read_text() + "# changed\n")
    assert source_key(tmp_path / "engine") != before


def test_a_change_of_what_no_kernel_uses_keeps_the_key(tmp_path: Path) -> None:
    files = make_tree(tmp_path / "engine")
    before = source_key(tmp_path / "engine")
    files["players.py"].write_text("# changed\n")
    assert source_key(tmp_path / "engine") == before


def test_the_newest_cache_directories_are_kept(tmp_path: Path) -> None:
    own = [f"kernels-{letter * 16}-numba1-py311" for letter in "dcba"]
    for age, name in enumerate([*own, "kernels-linux-6.1", "other"]):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (1_000_000 - age, 1_000_000 - age))
    remove_old_caches(tmp_path / own[0].replace("d", "e"), kept=3)
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == [own[1], own[0], "kernels-linux-6.1", "other"]


def test_a_cache_that_is_loaded_counts_as_used(tmp_path: Path) -> None:
    run_one_kernel(tmp_path, KEIMA_CACHE=str(tmp_path / "cache"))
    [directory] = (tmp_path / "cache").iterdir()
    os.utime(directory, (1_000_000, 1_000_000))
    run_one_kernel(tmp_path, KEIMA_CACHE=str(tmp_path / "cache"))
    assert directory.stat().st_mtime > 1_000_000


def test_the_binary_ships_the_kernels_and_the_key_of_their_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEIMA_CACHE", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="no compiled kernels of these sources"):
        frozen_files(tmp_path)
    run_one_kernel(tmp_path, KEIMA_CACHE=str(tmp_path), NUMBA_BOUNDSCHECK=None)
    files = {Path(path).name: folder for path, folder in frozen_files(tmp_path)}
    assert set(files.values()) == {"kernels"}
    assert (tmp_path / "KEY").read_text() == source_key()
    [directory] = tmp_path.glob("kernels-*")
    libraries = {library_name(level) for level in LEVELS} | {"_helperlib.so"}
    assert set(files) == {"KEY", *(libraries if LINKS_KERNELS else [directory.name])}
