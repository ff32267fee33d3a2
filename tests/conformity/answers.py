"""Checks of whole answers by name, as the scripts of `replay` write them: `{move}`, `{lists play genmove}`."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.board.layout import HEAD
from engine.color import EMPTY
from engine.scoring import final_score, format_score
from gtp.args import parse_color
from gtp.protocol import Command

if TYPE_CHECKING:
    from tests.conformity.replay import Replay


@dataclass(frozen=True)
class Answer:
    """The text of an answer, and the command that it answers."""

    command: Command
    text: str


Check = Callable[["Replay", Answer, list[str]], None]


def anything(replay: "Replay", answer: Answer, words: list[str]) -> None:
    """Accept any text."""


def text(replay: "Replay", answer: Answer, words: list[str]) -> None:
    """One line that is not empty."""
    assert answer.text.strip() and "\n" not in answer.text, f"got {answer.text!r}"


def lists(replay: "Replay", answer: Answer, words: list[str]) -> None:
    """The lines of the answer, as they are, contain each of the words."""
    missing = set(words) - set(answer.text.split("\n"))
    assert not missing, f"missing {sorted(missing)}"


def hides(replay: "Replay", answer: Answer, words: list[str]) -> None:
    """None of the words is among the lines of the answer."""
    found = set(words) & {line.strip() for line in answer.text.split("\n")}
    assert not found, f"found {sorted(found)}"


def has(replay: "Replay", answer: Answer, words: list[str]) -> None:
    """The words are among those of the answer."""
    missing = set(words) - set(answer.text.split())
    assert not missing, f"missing {sorted(missing)}"


def matches(replay: "Replay", answer: Answer, words: list[str]) -> None:
    """The whole answer matches a regular expression."""
    assert re.fullmatch(" ".join(words), answer.text, re.DOTALL), f"got {answer.text[:200]!r}"


def move(replay: "Replay", answer: Answer, words: list[str]) -> None:
    """A move that is legal under the strictest rules; it is played on the own board."""
    color = parse_color(answer.command.args[0]) if answer.command.args else replay.game.to_play
    replay.accept(color, answer.text)


def candidate(replay: "Replay", answer: Answer, words: list[str]) -> None:
    """A legal move that is not played; `reg_genmove` may write PASS."""
    color = parse_color(answer.command.args[0])
    vertex = replay.vertex(answer.text)
    assert replay.game.is_legal(color, vertex), f"{answer.text} is illegal"


def same(replay: "Replay", answer: Answer, words: list[str]) -> None:
    """The answer before this one, again."""
    assert answer.text == replay.previous, f"got {answer.text!r} after {replay.previous!r}"


def handicap(replay: "Replay", answer: Answer, words: list[str]) -> None:
    """Exactly so many different points; they are placed on the own board."""
    stones = answer.text.split(" ")
    assert len(set(stones)) == len(stones) == int(words[0]), f"got {answer.text!r}"
    replay.game.place_handicap([replay.vertex(stone) for stone in stones])


def number(replay: "Replay", answer: Answer, words: list[str]) -> None:
    """A number of seconds."""
    assert float(answer.text) >= 0.0


def score(replay: "Replay", answer: Answer, words: list[str]) -> None:
    """A result as the standard writes it."""
    assert re.fullmatch(r"[BW]\+\d+(\.\d+)?|0", answer.text), f"got {answer.text!r}"


def chains(replay: "Replay", answer: Answer, words: list[str]) -> None:
    """Whole chains, a line each; with the word `agrees` the score of `final_score` must be that without them."""
    board = replay.game.board
    dead: list[int] = []
    for line in filter(None, answer.text.split("\n")):
        vertices = [replay.vertex(name) for name in line.split(" ")]
        assert all(replay.game.color_at(vertex) != EMPTY for vertex in vertices), f"an empty point in {line!r}"
        heads = {int(board[HEAD, vertex]) for vertex in vertices}
        whole = {vertex for vertex in replay.stones() if int(board[HEAD, vertex]) in heads}
        assert len(heads) == 1 and set(vertices) == whole, f"{line!r} is not one whole chain"
        dead += vertices
    if "agrees" in words:
        expected = format_score(final_score(replay.game, dead))
        reported = replay.engine.ask("final_score").removeprefix("= ").strip()
        assert reported == expected, f"final_score {reported}, without the dead stones it is {expected}"


def stones(replay: "Replay", answer: Answer, words: list[str]) -> None:
    """The stones of a color on the own board, no more and no fewer."""
    color = parse_color(answer.command.args[0])
    own = {vertex for vertex in replay.stones() if replay.game.color_at(vertex) == color}
    reported = {replay.vertex(name) for name in answer.text.split()}
    assert reported == own, f"the boards differ in {sorted(reported ^ own)}"


def values(replay: "Replay", answer: Answer, words: list[str]) -> None:
    """A JSON object with these keys, or a list."""
    found = json.loads(answer.text)
    assert isinstance(found, (dict, list)) and set(words) <= set(found), f"got {answer.text[:200]!r}"


def picture(replay: "Replay", answer: Answer, words: list[str]) -> None:
    """A picture of the board in ASCII below the status, no blank line in it, as many stones as on the own board."""
    assert answer.text.startswith("\n") and "\n\n" not in answer.text[1:] and answer.text.isascii()
    drawn = sum(line.count("X") + line.count("O") for line in answer.text.split("\n") if re.match(r" *\d+[ (]", line))
    assert drawn == len(replay.stones()), f"{drawn} stones are drawn, {len(replay.stones())} are on the board"


def grid(replay: "Replay", answer: Answer, words: list[str]) -> None:
    """Rows of numbers from -1 to 1, GoGui's dboard."""
    rows = [row.split() for row in answer.text.split("\n")]
    assert [len(row) for row in rows] == [replay.game.width] * replay.game.height
    assert all(-1.0 <= float(cell) <= 1.0 for row in rows for cell in row)


def graphics(replay: "Replay", answer: Answer, words: list[str]) -> None:
    """Lines of GoGui's gfx type."""
    for line in answer.text.split("\n"):
        assert re.fullmatch(
            r"(COLOR #[0-9a-f]{6}|BLACK|WHITE|CIRCLE|SQUARE|TRIANGLE|MARK)( [A-HJ-Z]\d+)+"
            r"|LABEL( [A-HJ-Z]\d+ \S+)+|TEXT .+",
            line,
        ), f"GoGui cannot draw {line!r}"


def rules(replay: "Replay", answer: Answer, words: list[str]) -> None:
    """The answer was fine; from now on the own board counts by the rules named."""
    from engine.rules import parse_rules

    assert answer.text == ""
    replay.game.set_rules(parse_rules(words[0]))


CHECKS: dict[str, Check] = {
    "any": anything,
    "text": text,
    "lists": lists,
    "hides": hides,
    "has": has,
    "matches": matches,
    "move": move,
    "candidate": candidate,
    "same": same,
    "handicap": handicap,
    "number": number,
    "score": score,
    "chains": chains,
    "stones": stones,
    "json": values,
    "picture": picture,
    "grid": grid,
    "graphics": graphics,
    "rules": rules,
}
