"""The texts of the page: each in all languages, and none outside their files."""

import json
import re
from html.parser import HTMLParser

import pytest

from engine.apps.web.server import PAGE
from engine.apps.web.settings import RULES

LANGUAGES = ("en", "zh", "ja", "ko")
TEXTS = {name: json.loads((PAGE / f"{name}.json").read_text(encoding="utf-8")) for name in LANGUAGES}
SCRIPTS = {path.name: path.read_text(encoding="utf-8") for path in PAGE.glob("*.js")}
WORD = re.compile(r"[A-Za-z]{2,}|[\u3040-\u9fff\uac00-\ud7a3]")
VALUE = re.compile(r"\{(\w+)\}")
OWN_NAMES = {"Keima", "English", "中文", "日本語", "한국어"}
"""The program's name, and the languages' own names."""
NO_TEXTS = {"click", "resign", "[data-t]", " · Keima"}
"""Names of an event, a command, a selector and the program on lines that write texts."""


class Page(HTMLParser):
    """Collects what the page itself says, and the keys of its texts."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []
        self.keys: set[str] = set()
        self._tag = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._tag = tag
        for name, value in attrs:
            if name.startswith("data-t"):
                if name != "data-to" and name != "data-tool":
                    self.keys.add(value or "")
            elif name in ("title", "aria-label", "placeholder", "alt"):
                self.said.append(value or "")

    def handle_data(self, data: str) -> None:
        if self._tag != "kbd":
            self.said.append(data.strip())


def page() -> Page:
    parser = Page()
    parser.feed((PAGE / "index.html").read_text(encoding="utf-8"))
    return parser


def asked_keys() -> set[str]:
    """Return the keys that the page and its scripts name."""
    found = set(page().keys)
    for script in SCRIPTS.values():
        for call in re.findall(r"\bt\(([^()]*(?:\([^()]*\)[^()]*)*)\)", script):
            found |= set(re.findall(r'"(\w+)"', call.split(", {")[0]))
    return found


@pytest.mark.parametrize("name", LANGUAGES)
def test_each_language_has_all_texts_with_the_same_values(name: str) -> None:
    assert TEXTS[name].keys() == TEXTS["en"].keys()
    for key, text in TEXTS[name].items():
        assert text.strip(), key
        assert set(VALUE.findall(text)) == set(VALUE.findall(TEXTS["en"][key])), key


def test_every_text_that_the_page_asks_for_exists() -> None:
    asked = asked_keys()
    assert len(asked) > 120
    assert asked - TEXTS["en"].keys() == set()


def test_every_rule_set_has_a_text() -> None:
    assert {f"rules_{name}" for name in RULES} <= TEXTS["en"].keys()


def test_no_text_is_without_use() -> None:
    everything = "".join(SCRIPTS.values()) + (PAGE / "index.html").read_text(encoding="utf-8")
    composed = re.compile(r"rules_.*|(black|white)_to_play")
    unused = {key for key in TEXTS["en"] if not composed.fullmatch(key) and f'"{key}"' not in everything}
    assert unused == set()


def test_the_page_itself_says_nothing_but_keys_and_names() -> None:
    keys = {"Home", "End", "Shift+n"}
    assert {text for text in page().said if WORD.search(text)} - OWN_NAMES - keys == set()


def without_calls(script: str) -> str:
    """Return a line of a script without the calls of `t`, `at` and `querySelector`, whose texts are keys and names."""
    while found := re.search(r"(?<![\w])(?:t|at|querySelector)\(", script):
        depth, end = 1, found.end()
        while depth and end < len(script):
            depth += {"(": 1, ")": -1}.get(script[end], 0)
            end += 1
        script = script[: found.start()] + script[end:]
    return re.sub(r"\$\{[^}]*\}", "", script)


def test_scripts_write_no_text_of_their_own() -> None:
    # These write texts; each argument comes from t() or from the server's state.
    functions = "announce|say|showError|setText|confirm|new Option"
    writers = re.compile(rf"(?:{functions})\(|\.(?:textContent|title|placeholder) = ")
    lines = [line for script in SCRIPTS.values() for line in script.splitlines() if writers.search(line)]
    assert len(lines) > 40
    literals = {
        literal: line
        for line in lines
        for pair in re.findall(r'"([^"]*)"|`([^`]*)`', without_calls(line))
        for literal in pair
        if WORD.search(literal)
    }
    assert set(literals) - NO_TEXTS == set(), literals
