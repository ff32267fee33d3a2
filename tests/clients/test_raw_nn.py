"""Keima answers kata-raw-nn and kata-get-models as KataGo does: line by line, number by number.

KEIMA_KATAGO is the path of a KataGo program, version 1.17 or later; without it `katago` is looked for on the PATH.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.test_katago import CONFIG, katago
from tests.shared import require_shared
from weights import katago_writer
from weights.registry import load
from weights.shipped import DEFAULT_NETWORK

pytestmark = pytest.mark.clients
ROOT = Path(__file__).resolve().parent.parent.parent
HUMAN_NET = "synth-v15-meta-human.bin.gz"
NETS = ["g170-b6c96-s175395328-d26788732.bin.gz", "b7c96h3tfrs-test5-cnorm.bin.gz", "synth-v10.txt.gz"]
TOLERANCES = {"policy": 2e-5, "policyPass": 2e-5, "whiteOwnership": 5e-5, "whiteWin": 1e-5, "whiteLoss": 1e-5}
DEFAULT_TOLERANCE, SQUARE_TOLERANCE = 2e-3, 0.03
GAMES = {
    "9x9, tromp-taylor": "boardsize 9\nkata-set-rules tromp-taylor\nkomi 7\nplay b E5\nplay w C3\nplay b G3\n"
    "play w pass",
    "9x9, japanese": "boardsize 9\nkata-set-rules japanese\nkomi 6.5\nplay b D4\nplay w D5\nplay b E5\nplay w C4",
    "ko": "boardsize 7\nkata-set-rules chinese\nkomi 9\nplay b C4\nplay w D4\nplay b D5\nplay w E5\nplay b D3\n"
    "play w E3\nplay b B2\nplay w F4\nplay b E4",
    "13x7": "rectangular_boardsize 13 7\nkata-set-rules aga\nkomi 5.5\nplay b D4\nplay w K4",
    "19x19, handicap": "boardsize 19\nkata-set-rules chinese\nkomi 0.5\nset_free_handicap D4 Q16 D16\nplay w Q4\n"
    "play b R14",
}
QUESTIONS = ["kata-raw-nn 0 0", "kata-raw-nn 5 1", "kata-raw-nn 2", "kata-raw-nn all"]
OUT_OF_TURN = ["kata-raw-nn b 0", "kata-raw-nn White 3 0.5"]
"""Not asked in handicap games: asked for the side that is not to move, KataGo forgets that there was a handicap."""


def answers(command: list[str], script: str, folder: Path) -> list[list[str]]:
    """Return the lines of each reply without the spaces at their ends and without blank lines."""
    done = subprocess.run(command, cwd=folder, input=script, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    replies: list[list[str]] = []
    for line in done.stdout.splitlines():
        if line.startswith(("=", "?")):
            replies.append([line.rstrip()])
        elif line.strip():
            replies[-1].append(line.rstrip())
    return replies


def differences(found: list[str], expected: list[str]) -> list[str]:
    """Return the lines that differ in words, in what is illegal, or in numbers beyond the tolerances."""
    wrong = []
    key = ""
    for mine, theirs in zip(found, expected, strict=True):
        if theirs[:1].isalpha():
            key = theirs.split()[0]
        bound = (
            SQUARE_TOLERANCE
            if key in ("whiteScoreSelfplaySq", "whiteScoreSq")
            else TOLERANCES.get(key, DEFAULT_TOLERANCE)
        )
        pairs = list(zip(mine.split(), theirs.split(), strict=False))
        same = len(mine.split()) == len(theirs.split()) and all(_is_near(one, two, bound) for one, two in pairs)
        same_layout = [len(each) for each in mine.split(" ")] == [len(each) for each in theirs.split(" ")]
        if not same or not (same_layout or key == "whiteOwnership"):
            wrong.append(f"{mine!r} instead of {theirs!r}")
    return wrong


def _is_near(one: str, two: str, bound: float) -> bool:
    if one == two:
        return True
    try:
        return abs(float(one) - float(two)) <= bound and _digits(one) == _digits(two)
    except ValueError:
        return False


def _digits(number: str) -> int:
    return len(number.partition(".")[2])


@pytest.mark.parametrize("net", NETS)
def test_every_line_is_katagos(net: str, tmp_path: Path) -> None:
    compare(require_shared(f"nets/{net}"), tmp_path)


def test_keimas_own_network_gives_the_same_in_katago(tmp_path: Path) -> None:
    model = tmp_path / "keima.bin.gz"
    katago_writer.write(load(DEFAULT_NETWORK), model)
    compare(model, tmp_path)


@pytest.mark.parametrize("profile", ["rank_20k", "rank_3d_1k", "preaz_9d", "proyear_1850", "proyear_2023"])
def test_a_human_network_says_the_same_of_every_profile(profile: str, tmp_path: Path) -> None:
    program, model, human = katago(), require_shared(f"nets/{NETS[0]}"), require_shared(f"nets/{HUMAN_NET}")
    networks = ["-model", str(model), "-human-model", str(human)]
    for name, game in GAMES.items():
        setup = game.split("\n")
        sides, questions = setup[0].split()[1:], ["kata-raw-human-nn 0", "kata-raw-human-nn all"]
        config = tmp_path / "katago.cfg"
        text = CONFIG.format(width=sides[0], height=sides[-1]) + f"humanSLProfile = {profile}\n"
        config.write_text(text, encoding="ascii")
        script = "\n".join([*setup, *questions, "quit", ""])
        theirs = answers([program, "gtp", *networks, "-config", str(config)], script, tmp_path)
        options = ["--backend", "torch", "--precision", "fp32", "-override-config", f"humanSLProfile={profile}"]
        mine = answers([sys.executable, str(ROOT / "keima.py"), "gtp", *networks, *options], script, tmp_path)
        assert len(mine) == len(theirs) == len(setup) + 3
        for question, found, expected in zip(questions, mine[len(setup) :], theirs[len(setup) :], strict=False):
            assert differences(found, expected) == [], f"{name}, {question}"


def compare(model: Path, tmp_path: Path) -> None:
    """Ask KataGo and Keima of every game what a network says, and check that the answers are the same."""
    program = katago()
    for name, game in GAMES.items():
        setup = game.split("\n")
        questions = QUESTIONS + ([] if "handicap" in game else OUT_OF_TURN)
        asked = len(questions)
        sides = setup[0].split()[1:]
        config = tmp_path / "katago.cfg"
        config.write_text(CONFIG.format(width=sides[0], height=sides[-1]), encoding="ascii")
        script = "\n".join([*setup, *questions, "kata-get-models", "quit", ""])
        theirs = answers([program, "gtp", "-model", str(model), "-config", str(config)], script, tmp_path)
        options = ["--net", str(model), "--backend", "torch", "--precision", "fp32", "--visits", "1"]
        mine = answers([sys.executable, str(ROOT / "keima.py"), *options], script, tmp_path)
        for question, found, expected in zip(questions, mine[len(setup) :], theirs[len(setup) :], strict=False):
            assert differences(found, expected) == [], f"{name}, {question}"
        assert len(mine) == len(theirs) == len(setup) + asked + 2
        found, expected = (json.loads(each[len(setup) + asked][0][2:])[0] for each in (mine, theirs))
        assert list(found) == list(expected)
        for key in ("internalName", "name", "usesHumanSLProfile", "version"):
            assert found[key] == expected[key]
