"""Commands about the engine itself. They are answered before anything heavy is imported."""

import time

from gtp.errors import GtpQuit
from gtp.protocol import Command
from gtp.state import GtpState, Handler
from gtp.stderr import write_lines

PROTOCOL_VERSION = "2"


def protocol_version(state: GtpState, command: Command) -> str:
    """Return the version of GTP."""
    return PROTOCOL_VERSION


def name(state: GtpState, command: Command) -> str:
    """Return the engine's name."""
    return state.config.name


def version(state: GtpState, command: Command) -> str:
    """Return the engine's version."""
    return state.config.version


def known_command(state: GtpState, command: Command) -> str:
    """Return `true` if a command exists, else `false`; never an error."""
    return "true" if command.args and command.args[0] in state.commands else "false"


def list_commands(state: GtpState, command: Command) -> str:
    """List all commands, one on each line."""
    return "\n".join(sorted(state.commands))


def leave(state: GtpState, command: Command) -> str:
    """End the session."""
    raise GtpQuit


def cpu_time(state: GtpState, command: Command) -> str:
    """Return the processor seconds of the whole process so far."""
    return f"{time.process_time():.3f}"


def echo(state: GtpState, command: Command) -> str:
    """Return the arguments."""
    return command.rest


def echo_err(state: GtpState, command: Command) -> str:
    """Return the arguments and write them to stderr too."""
    write_lines([command.rest])
    return command.rest


COMMANDS: dict[str, Handler] = {
    "protocol_version": protocol_version,
    "name": name,
    "version": version,
    "known_command": known_command,
    "list_commands": list_commands,
    "quit": leave,
    "echo": echo,
    "echo_err": echo_err,
    "help": list_commands,
    "cputime": cpu_time,
    "gomill-cpu_time": cpu_time,
}
