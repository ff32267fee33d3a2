"""Reads the files that a command line names, for commands that pass their options on to a GTP session."""

from collections.abc import Iterator, Sequence

from engine.evaluators.finding import find_network
from weights.registry import load
from weights.shipped import network_named

NETWORK_OPTIONS = ("--net", "--model", "-model", "--human-model", "-human-model")
CREATED_OPTION = "--eval-cache"
"""The option of a file that need not exist yet."""
FILE_OPTIONS = (*NETWORK_OPTIONS, "--config", "-config", "--book", CREATED_OPTION)


def words_with_options(words: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield each word as (option, start, value); start + value is the word.

    option: the option of a file whose value it is, as `--net FILE` or `--net=FILE`; "" for every other word.
    """
    for before, word in zip(("", *words), words, strict=False):
        name, equals, value = word.partition("=")
        if before in FILE_OPTIONS:
            yield before, "", word
        elif equals and name in FILE_OPTIONS:
            yield name, name + equals, value
        else:
            yield "", "", word


def require_networks(words: Sequence[str]) -> None:
    """Raise GoError, WeightsError or OSError if a network among the words cannot be loaded.

    A session loads it in the background, when a controller or the page already hides the message.
    """
    for option, _, value in words_with_options(words):
        path = network_named(value) if option in NETWORK_OPTIONS else None
        if path is not None:
            load(find_network(path))
