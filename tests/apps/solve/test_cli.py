"""`keima solve`: what it prints and keeps, how it goes on, what it refuses."""

import builtins
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import keima
from engine.apps.solve.cli import chosen_problems, cli_solve
from engine.apps.solve.problems import read_problems
from engine.apps.solve.settings import SolveSettings
from engine.apps.solve.solver import Solver
from engine.encoders import ENCODERS
from engine.errors import GoError
from engine.evaluators.named import NamedEvaluator
from engine.nets.random import random_spec
from engine.search.params import SearchParams
from engine.support.stopping import INTERRUPTED
from tests.apps.solve.problems import CAPTURE, RACE, capture_file, entry, write
from tests.search.fakes import FakeEvaluator
from tests.terminal import Terminal
from weights import native

PARAMS = SearchParams(max_memory_mib=16)


def run(settings: SolveSettings, out: Path | None = None, **options: Any) -> tuple[int, str, str]:
    """Run the command with a fake evaluator; return (status, stdout, stderr)."""
    evaluator = options.pop("evaluator", NamedEvaluator("fake", "fake", FakeEvaluator()))
    stdout, stderr = io.StringIO(), options.pop("stderr", io.StringIO())
    status = cli_solve(settings, lambda: evaluator, PARAMS, out=out, stdout=stdout, stderr=stderr, **options)
    return status, stdout.getvalue(), stderr.getvalue()


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of problems as they are searched; if the third is called "stop...", a Ctrl-C comes there."""
    names: list[str] = []
    solve = Solver.solve

    def noted(self: Solver, problem: Any) -> Any:
        names.append(problem.name)
        if problem.name.startswith("stop") and len(names) == 3:
            raise KeyboardInterrupt
        return solve(self, problem)

    monkeypatch.setattr(Solver, "solve", noted)
    return names


def test_tables_say_what_was_solved(tmp_path: Path) -> None:
    status, stdout, stderr = run(SolveSettings(capture_file(tmp_path), (1, 20)))
    assert status == 0
    assert "3 of 3 problems" in stdout
    assert all(word in stdout for word in ("capture", "race", "5k", "2d", "1 visit", "20 visits", "all"))
    assert stderr.splitlines()[0] == "0/3 problems"
    assert stderr.splitlines()[-1].startswith("3/3 problems: ")
    assert stderr.splitlines()[-1].endswith("; 0 s left")


def test_a_terminal_gets_a_bar(tmp_path: Path) -> None:
    _, _, stderr = run(SolveSettings(capture_file(tmp_path), (1, 5)), stderr=Terminal())
    assert "3/3" in stderr
    assert "0 s left" not in stderr


def test_names_are_shown_as_they_are_given(tmp_path: Path) -> None:
    file = capture_file(tmp_path).rename(tmp_path / "[b6] :cat:.jsonl")
    _, stdout, _ = run(SolveSettings(file, (1,)), evaluator=NamedEvaluator("[/b6]", "[/b6]", FakeEvaluator()))
    assert "[b6] :cat:.jsonl, [/b6], with frame" in " ".join(stdout.split())


def test_json_is_one_object(tmp_path: Path) -> None:
    _, stdout, _ = run(SolveSettings(capture_file(tmp_path), (1, 5)), as_json=True)
    assert json.loads(stdout)["all"]["problems"] == 3
    assert stdout.count("\n") == 1


def test_the_folder_holds_answers_summary_and_plot(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    run(SolveSettings(capture_file(tmp_path), (1, 5)), out)
    assert sorted(path.name for path in out.iterdir()) == [
        ".lock",
        "results.jsonl",
        "settings.json",
        "solved.png",
        "summary.json",
    ]
    lines = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    assert sorted(line["name"] for line in lines) == ["p0", "p1", "p2"]
    assert json.loads((out / "summary.json").read_text())["by kind"].keys() == {"capture", "race"}
    assert json.loads((out / "settings.json").read_text())["format"] == "keima-solve"


def test_without_matplotlib_there_is_no_plot_and_a_word_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = builtins.__import__

    def absent(name: str, *rest: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(f"No module named {name!r}")
        return known(name, *rest)

    monkeypatch.setattr(builtins, "__import__", absent)
    status, _, stderr = run(SolveSettings(capture_file(tmp_path), (1, 5)), tmp_path / "out")
    assert status == 0
    assert "plots need matplotlib, which is not installed" in stderr
    assert not (tmp_path / "out" / "solved.png").exists()


def test_a_second_run_searches_only_what_is_missing(tmp_path: Path, searched: list[str]) -> None:
    file, out = capture_file(tmp_path, 4), tmp_path / "out"
    run(SolveSettings(file, (1, 5), limit=2), out)
    first = list(searched)
    assert len(first) == 2
    torn = (out / "results.jsonl").read_text() + '{"name": "p'
    (out / "results.jsonl").write_text(torn)
    _, stdout, _ = run(SolveSettings(file, (1, 5)), out, as_json=True)
    assert sorted(searched) == ["p0", "p1", "p2", "p3"]
    assert json.loads(stdout)["all"]["problems"] == 4


def test_ctrl_c_leaves_what_was_answered(tmp_path: Path, searched: list[str]) -> None:
    lines = [entry(CAPTURE, "E4", id=name) for name in ("stop1", "stop2", "stop3", "stop4")]
    file, out = write(tmp_path / "some.jsonl", *lines), tmp_path / "out"
    status, stdout, _ = run(SolveSettings(file, (1, 5)), out)
    assert status == INTERRUPTED
    assert "2 of 4 problems" in stdout
    assert len((out / "results.jsonl").read_text().splitlines()) == 2
    assert json.loads((out / "summary.json").read_text())["all"]["problems"] == 2


def test_a_folder_of_another_run_is_refused(tmp_path: Path) -> None:
    file, out = capture_file(tmp_path), tmp_path / "out"
    run(SolveSettings(file, (1, 5)), out)
    with pytest.raises(GoError, match=r"visits was \[1, 5\] there and is \[1, 6\] now; use another folder"):
        run(SolveSettings(file, (1, 6)), out)
    with pytest.raises(GoError, match="network was 'fake' there"):
        run(SolveSettings(file, (1, 5)), out, evaluator=NamedEvaluator("other", "other", FakeEvaluator()))
    capture_file(tmp_path, 4)
    with pytest.raises(GoError, match="problems_sha256"):
        run(SolveSettings(file, (1, 5)), out)


@pytest.mark.parametrize(
    ("line", "said"), [('{"name": "p0"}', ".*missing"), ("[]", r"expected a JSON object, got \[\]")]
)
def test_a_line_that_is_no_answer_is_named(tmp_path: Path, line: str, said: str) -> None:
    file, out = capture_file(tmp_path), tmp_path / "out"
    run(SolveSettings(file, (1, 5)), out)
    (out / "results.jsonl").write_text(f"{line}\n")
    with pytest.raises(GoError, match=rf"results.jsonl:1: no answer: {said}"):
        run(SolveSettings(file, (1, 5)), out)


def test_a_limit_draws_by_the_seed_and_grows(tmp_path: Path) -> None:
    file = capture_file(tmp_path, 40)
    problems = read_problems(file)

    def names(limit: int, seed: int) -> list[str]:
        return [each.name for each in chosen_problems(problems, SolveSettings(file, (1,), limit=limit, seed=seed))]

    assert len(names(10, 1)) == 10
    assert names(10, 1) != names(10, 2)
    assert names(20, 1)[:10] == names(10, 1)
    assert sorted(names(99, 1)) == sorted(problem.name for problem in problems)
    assert names(99, 1) != [problem.name for problem in problems], "an unfinished run would be no sample"


def test_boards_that_the_network_does_not_know_are_passed_over(tmp_path: Path) -> None:
    file = write(tmp_path / "sizes.jsonl", entry(CAPTURE, "E4"), {**entry(CAPTURE, "E4"), "size": 9, "correct": ["ii"]})
    evaluator = NamedEvaluator("fake", "fake", FakeEvaluator(), board_sizes=(9, 19))
    _, stdout, stderr = run(SolveSettings(file, (1,)), as_json=True, evaluator=evaluator)
    assert json.loads(stdout)["all"]["problems"] == 1
    assert "skipped 1 problems: the network supports boards from 9x9 to 19x19" in stderr


def invoke(*arguments: str) -> Result:
    """Run the command line in this process."""
    return CliRunner().invoke(keima.main, ["solve", *arguments])


@pytest.mark.parametrize("counts", ["0,1", "5,1", "1,1", "x", "", "1,", "-1"])
def test_counts_of_visits_must_ascend(tmp_path: Path, counts: str) -> None:
    result = invoke(str(capture_file(tmp_path)), "--visits", counts)
    assert result.exit_code == 2
    assert "expected ascending counts such as 1,100,800" in result.output


def test_a_bad_file_is_told_in_one_line(tmp_path: Path) -> None:
    result = invoke(str(write(tmp_path / "bad.jsonl", "{")))
    assert result.exit_code == 1
    assert "bad.jsonl:1: expected a JSON object" in result.output
    assert "Traceback" not in result.output


def test_play_outs_solve_from_the_command_line(tmp_path: Path) -> None:
    file = write(tmp_path / "race.jsonl", entry(RACE, "G6", "G7"))
    result = invoke(str(file), "--visits", "400", "--net", "none", "--json", "--threads", "1")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert found["all"]["solved"]["400"][0] == 1.0
    assert found["settings"]["network"] == "playouts"


def test_a_run_does_not_go_on_with_another_network_of_the_same_name(tmp_path: Path) -> None:
    networks = [tmp_path / name / "net.safetensors" for name in ("first", "second")]
    for seed, network in enumerate(networks, start=1):
        network.parent.mkdir()
        native.write(random_spec(1, 4, ENCODERS["liberties"], seed), network)
    command = (str(capture_file(tmp_path)), "--visits", "2", "--threads", "1", "--out", str(tmp_path / "out"))
    first, again, second = (invoke(*command, "--net", str(each)) for each in (networks[0], *networks))
    assert (first.exit_code, again.exit_code, second.exit_code) == (0, 0, 1)
    assert re.search(r"network was 'net\.safetensors \w{16} \w+' there and is 'net\.safetensors \w{16} ", second.output)


def test_max_memory_limits_network_cache_and_tree(tmp_path: Path) -> None:
    network = tmp_path / "net.safetensors"
    native.write(random_spec(1, 4, ENCODERS["liberties"], 1), network)
    options = (str(capture_file(tmp_path)), "--visits", "2", "--net", str(network), "--json", "--max-memory")
    refused = invoke(*options, "1")
    assert refused.exit_code == 1
    [least] = re.findall(r"--max-memory 1 is too small: at least (\d+)", refused.output)
    assert invoke(*options, least).exit_code == 0
