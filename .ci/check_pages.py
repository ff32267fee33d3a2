"""Check the pages: links, paths in backticks, `make` targets, `keima` commands and their options. Uses no network.

Usage: check_pages.py. Prints each error as `PAGE: what is wrong` on stderr; the exit status is 1 if there is any.
"""

import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.*?) *#*$", re.MULTILINE)
CODE_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
CODE_BLOCK = re.compile(r"^```.*?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DRAWING = re.compile(r"^```mermaid\n.*?^```$", re.MULTILINE | re.DOTALL)
INDENTED_BLOCK = re.compile(r"(?:(?<=\n\n)|\A)((?: {4}.*\n)(?:(?: {4}.*)?\n)*)")
REPOSITORY_PATH = re.compile(
    r"(?:engine|gtp|weights|tests|docs|\.ci)/[\w./-]*|[A-Z]+\.md|pyproject\.toml|keima\.py|Makefile"
)
TEST_PROGRAM = re.compile(r"python -m (tests[\w.]*)")
PLACEHOLDER = re.compile(r"[A-Z_]+(\||$)|\.\.\.")
RUNS_KEIMA = {"run": "", "bench": "bench", "match": "match", "solve": "solve"}
"""Targets of the Makefile whose ARGS are options of a command of Keima."""
PASSES_ON = {"web": "gtp", "setup": "gtp", "book use": "gtp"}
"""Commands that take the options of another one, too."""


def pages() -> list[Path]:
    """Return every page under version control, and new ones that are not ignored."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"]
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listing.split("\0") if name and (ROOT / name).is_file()]


def without_code(text: str) -> str:
    """Return a page's text without code blocks and code spans."""
    return CODE_SPAN.sub("", INDENTED_BLOCK.sub("", CODE_BLOCK.sub("", text)))


@cache
def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings as GitHub makes them."""
    found: set[str] = set()
    seen: Counter[str] = Counter()
    for heading in HEADING.findall(CODE_BLOCK.sub("", page.read_text(encoding="utf-8"))):
        plain = LINK.sub(lambda link: link.group().split("]")[0].lstrip("!["), heading).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        found.add(slug + (f"-{seen[slug]}" if seen[slug] else ""))
        seen[slug] += 1
    return found


def link_errors(page: Path, text: str) -> Iterator[str]:
    """Yield the links of a page's text that lead nowhere within the repository."""
    for target in LINK.findall(without_code(text)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if not file.exists():
            yield f"link to {target}: no such file"
        elif anchor and anchor not in anchors(file):
            yield f"link to {target}: no such heading"


def path_errors(text: str) -> Iterator[str]:
    """Yield the paths in backticks that begin in the repository and do not exist."""
    for span in CODE_SPAN.findall(CODE_BLOCK.sub("", text)):
        if REPOSITORY_PATH.fullmatch(span) and "NAME" not in span and not (ROOT / span).exists():
            yield f"`{span}`: no such file"
    for module in TEST_PROGRAM.findall(text):
        path = ROOT.joinpath(*module.split("."))
        if not path.with_suffix(".py").exists() and not (path / "__main__.py").exists():
            yield f"python -m {module}: no such program"


def commands(text: str) -> Iterator[str]:
    """Yield what a page's text shows as commands: lines of code blocks, continued ones joined, and code spans."""
    text = DRAWING.sub("", text)
    for block in [*CODE_BLOCK.findall(text), *INDENTED_BLOCK.findall(CODE_BLOCK.sub("", text))]:
        yield from (line.strip() for line in block.replace("\\\n", " ").splitlines())
    yield from CODE_SPAN.findall(INDENTED_BLOCK.sub("", CODE_BLOCK.sub("", text)))


def words_of(command: str) -> list[str]:
    """Return the words of a command line, or none if its quotes do not close: then it is no command."""
    try:
        return shlex.split(command.replace("\\", "/"), comments=True)
    except ValueError:
        return []


@cache
def targets() -> set[str]:
    """Return the targets of the Makefile that have a line of help."""
    return set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


@cache
def front_door() -> click.Group:
    """Return the `keima` command."""
    sys.path.insert(0, str(ROOT))
    from keima import main

    return main


def options_of(command: click.Command) -> set[str]:
    """Return the names of a command's options."""
    names = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
    return {"--help", "--help-all", "-h"} | names


@cache
def all_options() -> set[str]:
    """Return the names of the options of all commands."""

    def below(command: click.Command) -> set[str]:
        found = options_of(command)
        if isinstance(command, click.Group):
            context = click.Context(command)
            found = found.union(
                *(
                    below(each)
                    for name in command.list_commands(context)
                    if (each := command.get_command(context, name))
                )
            )
        return found

    return below(front_door())


def command_errors(command: str) -> Iterator[str]:
    """Yield what a command line asks of `make` and `keima` that they do not know."""
    words = words_of(command)
    for index, word in enumerate(words):
        rest = words[index + 1 :]
        if word == "make" and index == 0:
            yield from make_errors(rest)
        elif re.split(r"[/=]", word)[-1] in ("keima", "keima.exe") and (index == 0 or is_called(words[index - 1])):
            yield from keima_errors(rest)
        elif re.search(r"keima(\.exe)? ", word):
            yield from command_errors(word.partition("=")[2] if re.match(r"[\w.]+=", word) else word)


def is_called(before: str) -> bool:
    """Return whether the word after this one is a program that a shell starts."""
    return before in ("|", "&&", ";", "printf") or before.endswith(";")


def make_errors(words: list[str]) -> Iterator[str]:
    """Yield the targets that the Makefile does not have, and errors in the commands that it passes on."""
    target = next((word for word in words if re.fullmatch(r"[a-z-]+", word)), "")
    variables = dict(word.split("=", 1) for word in words if "=" in word)
    if target and target not in targets():
        yield f"make {target}: no such target"
    if target in RUNS_KEIMA and "ARGS" in variables:
        yield from keima_errors([*RUNS_KEIMA[target].split(), *words_of(variables["ARGS"])])
    yield from command_errors(variables.get("ENGINE", ""))


def keima_errors(words: list[str]) -> Iterator[str]:
    """Yield the subcommands and options that the `keima` command does not have."""
    command: click.Command = front_door()
    path = "keima"
    if not words or (words[0].startswith("-") and words[0] not in options_of(command)):
        words = ["gtp", *words]
    known = options_of(command)
    for word in words:
        if word in ("|", "&&", ";", ">", "<", "&"):
            return
        name = word.partition("=")[0]
        if isinstance(command, click.Group) and not word.startswith("-"):
            if PLACEHOLDER.match(word):
                return
            inner = command.get_command(click.Context(command), word)
            if inner is None:
                yield f"{path} {word}: no such command"
                return
            command, path = inner, f"{path} {word}"
            known = options_of(command)
            if word in PASSES_ON and path == f"keima {word}":
                known |= options_of(front_door().commands[PASSES_ON[word]])
        elif word.startswith("-") and not re.fullmatch(r"-[\d.]*", word) and name not in known:
            yield f"{path} {name}: no such option"
        elif " " in word:
            yield from command_errors(word)


def option_errors(text: str) -> Iterator[str]:
    """Yield the options that stand alone in backticks and belong to no command of Keima."""
    for span in CODE_SPAN.findall(INDENTED_BLOCK.sub("", CODE_BLOCK.sub("", text))):
        if re.match(r"--[a-z]", span):
            for word in words_of(span):
                if word.startswith("--") and word.partition("=")[0] not in all_options():
                    yield f"`{span}`: no command has the option {word}"


def errors_in(page: Path, text: str) -> list[str]:
    """Return what is wrong with a page of this text."""
    found = [*link_errors(page, text), *path_errors(text)]
    if page.name != "CHANGELOG.md":  # what it names existed in its version
        found += [error for command in commands(text) for error in command_errors(command)]
        found += option_errors(text)
    return list(dict.fromkeys(found))


def main() -> int:
    """Check every page and return the exit status."""
    found = [
        f"{page.relative_to(ROOT)}: {error}\n"
        for page in pages()
        for error in errors_in(page, page.read_text(encoding="utf-8"))
    ]
    sys.stderr.write("".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
