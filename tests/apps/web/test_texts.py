"""The texts of the page: each in all languages, and none outside their files."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from engine.apps.web.server import PAGE
from engine.apps.web.settings import RULES

ROOT = Path(__file__).resolve().parents[3]
LANGUAGES = ("en", "zh", "ja", "ko")
TEXTS = {name: json.loads((PAGE / f"{name}.json").read_text(encoding="utf-8")) for name in LANGUAGES}
SCRIPTS = {path.name: path.read_text(encoding="utf-8") for path in PAGE.glob("*.js")}
WORD = re.compile(r"[A-Za-z]{2,}|[\u3040-\u9fff\uac00-\ud7a3]")
VALUE = re.compile(r"\{(\w+)\}")
OWN_NAMES = {"Keima", "English", "中文", "日本語", "한국어"}
"""The program's name, and the languages' own names."""
NO_TEXTS = {"click", "resign", "[data-t]", " · Keima"}
"""Names of an event, a command, a selector and the program on lines that write texts."""

ARROWS = {"ArrowLeft": "←", "ArrowRight": "→", "ArrowUp": "↑", "ArrowDown": "↓"}
IN_MANUAL = {"left": "←", "right": "→", "up": "↑", "down": "↓"}
NO_KEYS = {"and", "arrow", "arrows", "board", "mouse", "the", "then", "to", "wheel"}
"""Other words in the manual's column of keys."""
ELSEWHERE = {"Tab", "Enter", "Ctrl+v"}
"""Keys that the browser, the board and its record answer, and not `KEYS`."""


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


def keys_of_script() -> set[str]:
    """Return the keys that `KEYS` of page.js answers, by their names in lists of keys."""
    (table,) = re.findall(r"const KEYS = \{(.*?)\n\};", SCRIPTS["page.js"], re.S)
    names = re.findall(r"(?:^|, )\s*\"?([A-Za-z]+|\?)\"?: ", re.sub(r"\{.*?\}", "", table), re.M)
    return {ARROWS.get(name, f"Shift+{name.lower()}" if name.isupper() else name) for name in names}


def keys_of_manual() -> set[str]:
    """Return the keys in the table of docs/playing.md, by the same names."""
    manual = (ROOT / "docs" / "playing.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"^\| key \| does \|\n\|---\|---\|\n((?:\|.*\n)+)", manual, re.M)
    cells = [line.split("|")[1].replace("`", "") for line in table.splitlines()]
    return {IN_MANUAL.get(word, word) for cell in cells for word in re.findall(r"[^\s,]+", cell)} - NO_KEYS


def test_the_script_the_list_of_keys_and_the_manual_have_the_same_keys() -> None:
    rows = re.findall(r"<tr><td>(.*?)</td><td data-t=\"keys_\w+\">", (PAGE / "index.html").read_text(encoding="utf-8"))
    listed = {key for row in rows for key in re.sub("</?kbd>", "", row).split()}
    assert keys_of_script() | ELSEWHERE == listed
    assert keys_of_script() | ELSEWHERE == keys_of_manual()


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
