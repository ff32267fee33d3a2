"""What docs/compare.md says that Keima can do, Keima does."""

import io
import json
import re
from functools import partial
from pathlib import Path

import pytest

from engine.encoders import ENCODERS
from engine.nets.random import random_spec
from engine.search.params import SearchParams
from gtp.commands import HANDLERS
from gtp.session import serve
from gtp.state import GtpState, SessionConfig
from keima import make_player
from tests.compared import NO, gtp_commands, json_options, lines
from tests.json_analysis.talk import answers, query
from weights import native

COMMANDS = sorted({command for line in lines() for command in gtp_commands(line.keima)})
OPTIONS = sorted({options for line in lines() for options in json_options(line.keima)})


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("compare") / "tiny.safetensors"
    native.write(random_spec(1, 4, ENCODERS["katago-v7"], 1), file)
    return file


def replies(network: Path, command: str) -> list[str]:
    """Return the replies to a command and to quit, without the empty lines between them."""
    options = {"net": str(network), "backend": "openvino", "precision": "fp32", "threads": 1, "profile": None}
    factory = partial(make_player, SearchParams(seed=1), {**options, "reflexes": False})
    state = GtpState(SessionConfig(width=9, height=9, visits=8), factory, HANDLERS)
    written = io.BytesIO()
    serve(state, io.BytesIO(f"{command}\nquit\n".encode()), written)
    return [reply for reply in re.split(r"\n\n+", written.getvalue().decode()) if reply]


def test_every_line_has_a_command_or_says_no() -> None:
    assert len(lines()) > 50
    for line in lines():
        for cell in line[1:]:
            assert cell.startswith(NO) or "`" in cell or "build" in cell, line


def test_the_tables_name_commands_of_gtp() -> None:
    assert len(COMMANDS) > 25
    assert "kgs-rules chinese" in COMMANDS
    assert OPTIONS == [
        '"includePolicy":true,"includeMovesOwnership":true',
        '"reportDuringSearchEvery":0.01,"priority":3',
    ]


@pytest.mark.parametrize("command", COMMANDS)
def test_keima_answers_the_command(command: str, network: Path) -> None:
    given = replies(network, command)
    assert all(reply.startswith(("=", "info")) for reply in given), given
    assert len(given) > 1


@pytest.mark.parametrize("options", OPTIONS)
def test_keima_knows_the_options_of_the_json_analysis(options: str) -> None:
    found = answers(query(**json.loads(f"{{{options}}}")))
    assert found
    assert not [each for each in found if "error" in each or "warning" in each]
