"""`keima review`: which ids and files the games of several folders have, and which are reviewed again."""

import json
from pathlib import Path

import pytest

from engine.errors import GoError
from engine.records.sgf import load_sgf
from tests.apps.review.test_review import GAME, TURNS, answers, run, write
from tests.search.fakes import FakeEvaluator

ANNA, CARL, DORA = GAME, GAME.replace("Anna", "Carl"), GAME.replace("Anna", "Dora")


def asked(out: Path, *sources: Path) -> int:
    """Review games; return how many positions were analyzed."""
    before = len(answers(out)) if (out / "analysis.jsonl").exists() else 0
    assert run(out, *sources)[0] == 0
    return len(answers(out)) - before


def black(out: Path, name: str) -> str:
    """Return the name of Black in a game's annotated record."""
    return load_sgf(out / f"{name}.sgf").black


def test_games_of_one_name_are_found_again_in_any_order(tmp_path: Path) -> None:
    one, two = write(tmp_path / "d1", x=ANNA), write(tmp_path / "d2", x=CARL)
    out = tmp_path / "out"
    assert asked(out, one, two) == 2 * TURNS
    assert asked(out, two, one) == 0
    assert (black(out, "x"), black(out, "x-2")) == ("Anna", "Carl")
    assert asked(out, two) == 0
    assert (black(out, "x"), black(out, "x-2")) == ("Anna", "Carl")


def test_a_game_added_before_others_of_its_name_leaves_them_what_they_are(tmp_path: Path) -> None:
    folders = [write(tmp_path / name, x=text) for name, text in (("d0", DORA), ("d1", ANNA), ("d2", CARL))]
    out = tmp_path / "out"
    assert asked(out, folders[1]) == TURNS
    assert asked(out, *folders) == 2 * TURNS
    assert [black(out, name) for name in ("x", "x-2", "x-3")] == ["Anna", "Dora", "Carl"]
    assert {each["id"] for each in answers(out)} == {"x.sgf", "x-2.sgf", "x-3.sgf"}


def test_another_game_of_a_reviewed_name_is_no_changed_one(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(out, write(tmp_path / "d1", x=ANNA))
    assert asked(out, write(tmp_path / "d0", x=DORA)) == TURNS
    assert (black(out, "x"), black(out, "x-2")) == ("Anna", "Dora")


def test_a_name_that_differs_in_its_case_alone_leaves_a_reviewed_game_its_id(tmp_path: Path) -> None:
    games, out = write(tmp_path / "in", x=ANNA), tmp_path / "out"
    run(out, games)
    (games / "X.SGF").write_text(CARL, encoding="utf-8")
    if len(list(games.iterdir())) == 1:
        pytest.skip("the file system ignores case")
    assert asked(out, games) == TURNS
    assert {each["id"] for each in answers(out)} == {"x.sgf", "X-2.SGF"}
    assert black(out, "x") == "Anna"


def test_a_game_added_in_front_of_a_file_s_others_is_the_only_one_analyzed(tmp_path: Path) -> None:
    games, out = write(tmp_path / "in", many=ANNA + CARL), tmp_path / "out"
    run(out, games)
    write(games, many=DORA + ANNA + CARL)
    assert asked(out, games) == TURNS
    assert [black(out, name) for name in ("many", "many-2", "many-3")] == ["Anna", "Carl", "Dora"]


def test_a_changed_file_is_refused_beside_others_of_its_name(tmp_path: Path) -> None:
    one, two = write(tmp_path / "d1", x=ANNA), write(tmp_path / "d2", x=CARL)
    run(tmp_path / "out", one, two)
    write(two, x=DORA)
    with pytest.raises(GoError, match=r"^x-2\.sgf has changed since it was reviewed in "):
        run(tmp_path / "out", two, one)


def test_a_folder_that_does_not_say_where_games_lay_goes_on(tmp_path: Path) -> None:
    one, two = write(tmp_path / "d1", x=ANNA), write(tmp_path / "d2", x=CARL)
    out, evaluator = tmp_path / "out", FakeEvaluator()
    run(out, one, two)
    lines = [json.loads(line) for line in (out / "games.jsonl").read_text(encoding="utf-8").splitlines()]
    old = "".join(json.dumps({name: line[name] for name in ("id", "sha256")}) + "\n" for line in lines)
    (out / "games.jsonl").write_text(old, encoding="utf-8")
    run(out, two, one, evaluator=evaluator)
    assert evaluator.calls == 0
    assert (black(out, "x"), black(out, "x-2")) == ("Anna", "Carl")
    (out / "games.jsonl").write_text(old, encoding="utf-8")
    run(out, two, evaluator=evaluator)
    assert (black(out, "x"), black(out, "x-2")) == ("Anna", "Carl")
    write(one, x=DORA)
    with pytest.raises(GoError, match=r"^x\.sgf has changed"):
        run(out, one)
