"""The switches that only some controllers need: off by default, in the help, and heard by the session."""

import pytest
from click.testing import CliRunner

import keima
from engine import __version__
from gtp.state import SessionConfig

SWITCHES = ("--compat-name", "--compat-version", "--live-graphics", "--leela-lines", "--ponder")


@pytest.fixture
def configs(monkeypatch: pytest.MonkeyPatch) -> list[SessionConfig]:
    """Keep sessions from running; return the configuration of each."""
    found: list[SessionConfig] = []

    def run(config: SessionConfig, factory: object) -> int:
        found.append(config)
        return 0

    monkeypatch.setattr("gtp.session.run", run)
    return found


def started(configs: list[SessionConfig], *arguments: str) -> SessionConfig:
    """Return what a session would start with."""
    assert CliRunner().invoke(keima.main, ["gtp", *arguments]).exit_code == 0
    return configs[-1]


def test_by_default_keima_is_itself_and_stderr_is_quiet(configs: list[SessionConfig]) -> None:
    config = started(configs)
    assert (config.name, config.version) == ("Keima", __version__)
    assert (config.live_graphics, config.leela_lines, config.ponder) == (False, False, False)


def test_each_switch_is_heard(configs: list[SessionConfig]) -> None:
    config = started(configs, "--compat-name", "KataGo", "--compat-version", "1.15", "--live-graphics", "--leela-lines")
    assert (config.name, config.version) == ("KataGo", "1.15")
    assert (config.live_graphics, config.leela_lines) == (True, True)


def test_the_help_lists_every_switch() -> None:
    reported = CliRunner().invoke(keima.main, ["gtp", "--help-all"]).output
    assert all(switch in reported for switch in SWITCHES)
