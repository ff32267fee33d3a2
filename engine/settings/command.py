"""The click command class of all commands: `--help` groups options under headings, `--help-all` adds expert options."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click
from click.core import ParameterSource

from engine.settings.options import shown
from engine.settings.setting import Heading, Setting
from engine.settings.table import settings_on
from engine.settings.table.surfaces import SEARCH

OPTIONAL_PACKAGES = {"torch": "train", "tensorboard": "train", "matplotlib": "plot", "ray": "ray", "optuna": "tune"}
OPTIONAL_PACKAGES |= dict.fromkeys(("onnx", "onnxscript", "onnxruntime"), "onnx")
"""Packages that Keima plays without, and the extra of the distribution that installs each."""
KEYS = "Keys of --set"
"""The heading in `--help-all` of what --set takes."""
_ALL = "keima.help_all"
_HELP = "Help"


def _show_all(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    """Print the help with every option and exit, if `--help-all` was given."""
    if value and not ctx.resilient_parsing:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


class Command(click.Command):
    """A command whose options come from the table of settings.

    keys: returns the settings that its --set reaches, by key, for `--help-all`. May import what is heavy.
    check: raises what the command would, once it runs, for options that do not go together or cannot be carried out.
    """

    def __init__(
        self,
        *args: Any,
        keys: Callable[[], Mapping[str, Setting]] | None = None,
        check: Callable[[click.Context], None] | None = None,
        **attributes: Any,
    ) -> None:
        super().__init__(*args, **attributes)
        self.keys, self.check = keys, check
        self._help_all = click.Option(
            ["--help-all"],
            is_flag=True,
            expose_value=False,
            is_eager=True,
            callback=_show_all,
            help="Show all options, those for experts too, and exit.",
        )

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; errors of the user are one line instead of a traceback."""
        with _one_line_errors(ctx.command_path):
            return super().invoke(ctx)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters of the command, --help-all and --help."""
        *params, help_option = super().get_params(ctx)
        return [*params, self._help_all, help_option]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under their headings."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            # --help and --help-all are click's own options: they have no row in the table and no heading.
            heading = getattr(param, "heading", _HELP)
            if record is not None and (heading is not Heading.EXPERT or _ALL in ctx.meta):
                groups.setdefault(str(heading), []).append(record)
        if self.keys is not None and _ALL in ctx.meta:
            groups[KEYS] = [(key, _help_text(each)) for key, each in self.keys().items()]
        for heading, records in groups.items():
            with formatter.section(heading):
                formatter.write_dl(records)


def search_keys() -> dict[str, Setting]:
    """Return the keys of --set of a command that searches."""
    return settings_on(SEARCH)


def _help_text(setting: Setting) -> str:
    """Return the help of a setting with its default and its range or choices in brackets, as options have them."""
    default = setting.default_text or shown(setting.default) or ("off" if setting.default is False else "none")
    allowed = ", ".join(setting.choices) or setting.bounds
    return f"{setting.help}  [default: {default}{f'; {allowed}' if allowed else ''}]"


@contextmanager
def _one_line_errors(command: str) -> Iterator[None]:
    """Turn errors of the user into a ClickException of one line; other errors pass through.

    They are GoError, WeightsError, OSError, and an optional package that is not installed.
    command: its full name, for the message.
    """
    try:
        yield
    except ValueError as error:
        # Late: only a command that failed pays for these imports.
        from engine.errors import GoError
        from engine.nets.spec import WeightsError

        if not isinstance(error, GoError | WeightsError):
            raise
        raise click.ClickException(" ".join(str(error).split())) from error
    except BrokenPipeError:
        raise  # by click, without a word: the reader of stdout, such as `head`, has seen enough
    except OSError as error:
        place = "" if error.filename is None else f"{error.filename}: "
        raise click.ClickException(f"{place}{error.strerror or error}") from error
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        extra = OPTIONAL_PACKAGES.get(package)
        if extra is None:
            raise
        install = f"make install EXTRAS={extra}, or pip install 'keima[{extra}]'"
        raise click.ClickException(f"{command} needs {package}: {install}") from error


class Group(click.Group):
    """A group whose commands are `Command` objects."""

    command_class = Command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the name, the command and its arguments. Raises NoSuchCommand, which names those that are nearest."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            # click compares with the commands that are loaded already.
            raise click.NoSuchCommand(error.command_name, possibilities=self.list_commands(ctx), ctx=ctx) from None


def refuse_given(names: Collection[str], reason: str) -> None:
    """Raise UsageError, "--OPTION REASON", if the command line of the present command has one of these options."""
    context = click.get_current_context()
    unknown = set(names) - {option.name for option in context.command.params}
    assert not unknown, unknown
    for option in context.command.params:
        is_given = option.name is not None and context.get_parameter_source(option.name) is ParameterSource.COMMANDLINE
        if is_given and option.name in names:
            raise click.UsageError(f"{option.opts[0]} {reason}", context)


def require_options_of(ctx: click.Context, command: str, options: tuple[str, ...]) -> None:
    """Raise what another command of this program would raise for `options`: UsageError, or what its check finds.

    For options that are passed on to a child process, whose error message would reach nobody.
    """
    program = ctx.find_root().command
    assert isinstance(program, click.Group)
    other = program.get_command(ctx, command)
    if other is not None:
        made = other.make_context(f"{ctx.find_root().command_path} {command}", list(options))
        if isinstance(other, Command) and other.check is not None:
            with made:
                other.check(made)
