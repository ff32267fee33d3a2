"""Commands that report and change the rules, in the terms of KGS and KataGo."""

from engine.errors import BadRules
from engine.rules import KGS_PRESETS, parse_rules
from gtp.args import expect, syntax_error
from gtp.errors import GtpError
from gtp.protocol import Command
from gtp.state import GtpState, Handler


def kgs_rules(state: GtpState, command: Command) -> str:
    """Set the rules by their KGS name; further arguments that KGS may send are ignored."""
    rules = KGS_PRESETS.get(command.args[0].lower()) if command.args else None
    state.set_rules(syntax_error() if rules is None else rules)
    return ""


def kata_get_rules(state: GtpState, command: Command) -> str:
    """Return the rules as one line of JSON."""
    expect(command.args, 0)
    return state.rules.to_json()


def kata_set_rules(state: GtpState, command: Command) -> str:
    """Set the rules by a shorthand or JSON."""
    try:
        state.set_rules(parse_rules(command.rest))
    except BadRules as error:
        raise GtpError(str(error)) from None
    return ""


def kata_set_rule(state: GtpState, command: Command) -> str:
    """Change one field of the rules."""
    expect(command.args, 2)
    try:
        state.set_rules(state.rules.with_field(*command.args))
    except BadRules as error:
        raise GtpError(str(error)) from None
    return ""


COMMANDS: dict[str, Handler] = {
    "kgs-rules": kgs_rules,
    "kata-get-rules": kata_get_rules,
    "kata-set-rules": kata_set_rules,
    "kata-set-rule": kata_set_rule,
}
