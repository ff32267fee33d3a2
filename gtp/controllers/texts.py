"""The configurations of the controllers. Independent of the installation: the engine's command line is an argument.

`$command` in a text is replaced by the engine's command line in the form that the file needs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from string import Template

from engine.errors import GoError
from engine.support.command_line import joined
from engine.support.json_text import json_text


@dataclass(frozen=True)
class Controller:
    """One controller.

    verb: the Keima command that it starts. options: required options, before the user's own.
    text: the configuration. write: formats a command line for the file; raises GoError for words that it cannot
    contain.
    advice: where to put the text; `$place` in it is replaced by the system's entry of `places`.
    places: files or folders of the controller by `sys.platform`; other systems have those of "linux".
    """

    verb: str
    options: tuple[str, ...]
    text: str
    write: Callable[[Sequence[str]], str]
    advice: str
    places: Mapping[str, str] = field(default_factory=dict)

    def advice_on(self, system: str) -> str:
        """Return the steps for a system, a value of `sys.platform`."""
        place = self.places.get(system, self.places.get("linux", ""))
        return Template(self.advice).substitute(place=place)


def _in_quotes(command: Sequence[str]) -> str:
    """Format a command line for a parser that knows double quotes and no escapes."""
    _refuse(command, lambda word: '"' in word, "quotes")
    return " ".join(f'"{word}"' if not word or _has_space(word) else word for word in command)


def _as_plain_words(command: Sequence[str]) -> str:
    """Format a command line for a parser that splits at spaces."""
    _refuse(command, lambda word: not word or _has_space(word), "spaces")
    return " ".join(command)


def _for_properties(command: Sequence[str]) -> str:
    """Format a command line for Java's property files, which have the escapes of JSON strings."""
    # Java's properties use the same backslash escapes as JSON.
    return json_text(_as_plain_words(command))[1:-1]


def _has_space(word: str) -> bool:
    return any(each.isspace() for each in word)


def _refuse(command: Sequence[str], is_wrong: Callable[[str], bool], what: str) -> None:
    wrong = [word for word in command if is_wrong(word)]
    if wrong:
        raise GoError(f"this controller cannot start a command with {what} in a word, got {wrong[0]!r}")


def _as_words(command: Sequence[str]) -> str:
    """Format the words as a JSON list."""
    return json_text(list(command))


def _as_text(command: Sequence[str]) -> str:
    """Format the command line as a JSON string."""
    return json_text(joined(command))


def _as_engine(command: Sequence[str]) -> str:
    """Format one entry of Sabaki's list of engines."""
    members = {"name": "Keima", "path": command[0], "args": joined(command[1:]), "commands": ""}
    return json_text(members, indent=2, ensure_ascii=False)


def _as_preset(command: Sequence[str]) -> str:
    """Format one entry of LizGoban's list of presets."""
    return json_text({"label": "Keima", "accelerator": "F1", "engine": list(command)}, ensure_ascii=False)


def _as_program_and_words(command: Sequence[str]) -> str:
    """Format the two keys in which Ogatak keeps a command."""
    members = {"arbitrary_command": command[0], "arbitrary_argslist": list(command[1:])}
    return json_text(members, indent=2, ensure_ascii=False)


def _in_quotes_as_text(command: Sequence[str]) -> str:
    """Format the command line, with double quotes around words with spaces, as a JSON string."""
    return json_text(_in_quotes(command), ensure_ascii=False)


_KGS = """\
# kgsGtp 3.5: java -jar kgsGtp.jar THIS-FILE
name=YOUR-BOT
password=YOUR-PASSWORD
room=Computer Go
engine=$command

# custom: an open challenge; wait: only answers; auto: automatch; tournament: KGS tournaments
mode=custom
rules=chinese
rules.boardSize=19
rules.time=10:00+5x0:30
#automatch.rank=3k

undo=t
reconnect=t
talk=I am Keima, a Go engine.
gameNotes=Keima, a Go engine in Python
hint.cleanup=We do not agree which stones are dead. Please play on; I take dead stones off the board.
hint.noArguing=We do not agree which stones are dead. Please undo your last pass and play on.
verbose=f
logFile=kgsGtp-keima
"""

_FAR_AWAY = ("-override-config", "lagBuffer=1")
"""Options for a server that charges what the connection takes: a stall in the last period loses the game."""
_OGS = """\
{
    // gtp2ogs: gtp2ogs -c THIS-FILE
    apikey: "YOUR-API-KEY",

    bot: {
        command: $command,

        // One process a game, kept while the game goes on, so that it may think in the opponent's time.
        manager: "persistent",
        enable_clock: true,
        send_chats: true,
        send_pv_data: true,
        release_delay: 100,
        quit_grace_period: 5000,
    },

    allowed_board_sizes: [9, 13, 19],
    allowed_time_control_systems: ["fischer", "byoyomi", "simple"],
    allowed_live_settings: {
        simple: { per_move_time_range: [5, 300] },
        byoyomi: { main_time_range: [0, 3600], period_time_range: [5, 300], periods_range: [1, 10] },
        fischer: { max_time_range: [30, 600], time_increment_range: [5, 300] },
        concurrent_games: 1,
    },
    // Other games are declined: gtp2ogs would take three rapid games and 500 of correspondence at a time.
    allowed_blitz_settings: null,
    allowed_rapid_settings: {
        simple: { per_move_time_range: [5, 30] },
        byoyomi: { main_time_range: [0, 3600], period_time_range: [5, 30], periods_range: [1, 10] },
        fischer: { max_time_range: [30, 600], time_increment_range: [3, 30] },
        concurrent_games: 1,
    },
    allowed_correspondence_settings: null,
    max_games_per_player: 1,
    greeting: { en: "Hello, I am Keima, a Go engine. Have a good game!" },
    farewell: { en: "Thank you for the game!" },
    farewellscore: true,
}
"""

_CGOS = """\
Common:
  KillFile = kill.txt

GTPEngine:
  Name = Keima
  CommandLine = $command

  ServerHost = yss-aya.com
  ServerPort = 6819

  ServerUser = YOUR-BOT
  ServerPassword = YOUR-PASSWORD

  NumberOfGames = 1000
  SGFDirectory = sgf
"""

_KATRAIN = """\
{
  "engine": {
    "backend": "custom",
    "altcommand": $command,
    "max_visits": 500,
    "fast_visits": 25,
    "max_time": 8.0,
    "wide_root_noise": 0.04
  }
}
"""

CONTROLLERS: dict[str, Controller] = {
    "sabaki": Controller(
        verb="gtp",
        options=(),
        text='"engines.list": [\n$command\n]\n',
        write=_as_engine,
        advice=(
            "In Sabaki: Engines, Show Engines Sidebar, Attach Engine, Manage Engines, Add; copy path and args into\n"
            "its fields. Or, with Sabaki closed, put this into $place.\n"
            "Without --time a move takes 5 s."
        ),
        places={
            "linux": "~/.config/Sabaki/settings.json",
            "darwin": "~/Library/Application Support/Sabaki/settings.json",
            "win32": r"%APPDATA%\Sabaki\settings.json",
        },
    ),
    "gogui": Controller(
        verb="gtp",
        options=("--live-graphics",),
        text="$command\n",
        write=_in_quotes,
        advice=(
            "In GoGui: Program, New Program; this line is the command. Tools, Analyze Commands shows its analysis.\n"
            "--live-graphics draws running searches (View, Shell shows the lines); omit it for gogui-twogtp."
        ),
    ),
    "kgs": Controller(
        verb="gtp",
        options=("--rules", "chinese-kgs", *_FAR_AWAY),
        text=_KGS,
        write=_for_properties,
        advice=(
            "Save as keima.properties beside kgsGtp.jar, fill in name and password (and the time that you want), and\n"
            "run: java -jar kgsGtp.jar keima.properties. KGS sets rules and clocks, regardless of the options."
        ),
    ),
    "ogs": Controller(
        verb="gtp",
        options=("--rules", "chinese-ogs", "--leela-lines", *_FAR_AWAY),
        text=_OGS,
        write=_as_words,
        advice=(
            "Save as keima.json5, fill in the key from your bot's profile page, and run: gtp2ogs -c keima.json5.\n"
            "OGS does not send rules to bots: use one rule set for each bot, here Chinese (or --rules japanese)."
        ),
    ),
    "cgos": Controller(
        verb="gtp",
        options=("--rules", "cgos"),
        text=_CGOS,
        write=_as_plain_words,
        advice=(
            "Save as keima.cfg, fill in user and password (the first login registers them; ports: 6809 for 9x9, 6813\n"
            "for 13x13, 6819 for 19x19), and run in client-python: python3 src/cgosclient.py keima.cfg"
        ),
    ),
    "katrain": Controller(
        verb="analysis",
        options=(),
        text=_KATRAIN,
        write=_as_text,
        advice=(
            "In KaTrain: General & Engine Settings, the field for an override of the command takes the text of\n"
            "altcommand. Or, with KaTrain closed, put these keys into the section engine of\n$place."
        ),
        places={"linux": "~/.katrain/config.json", "win32": r"%USERPROFILE%\.katrain\config.json"},
    ),
    "lizzie": Controller(
        verb="gtp",
        options=("--compat-name", "KataGo", "--compat-version", "1.15.3"),
        text='{\n  "leelaz": {\n    "engine-command": $command\n  }\n}\n',
        write=_in_quotes_as_text,
        advice=(
            "In Lizzie or LizzieYzy: Settings, Engine; paste the text of engine-command into the field of the engine,\n"
            "without the outer quotes. Or, with Lizzie closed, put the key into the section leelaz of config.txt,\n"
            "$place.\n"
            "Lizzie shows scores and ownership only for an engine that is called KataGo, hence --compat-name."
        ),
        places={"linux": "which lies beside lizzie.jar", "win32": "which lies beside Lizzie.exe"},
    ),
    "lizgoban": Controller(
        verb="gtp",
        options=(),
        text='{\n  "preset": [\n    $command\n  ]\n}\n',
        write=_as_preset,
        advice=(
            "Save as config.json (or add the entry to the list preset of the one you have)\n"
            "$place,\n"
            "and choose Keima in the menu Preset. LizGoban finds out by itself what the engine can do."
        ),
        places={
            "linux": "and start LizGoban in its folder with\n    npm start -- -c /full/path/of/config.json",
            "win32": "in the folder of lizgoban_windows.vbs or LizGoban.exe,\nstart that",
        },
    ),
    "ogatak": Controller(
        verb="analysis",
        options=(),
        text="$command\n",
        write=_as_program_and_words,
        advice=(
            "Close Ogatak and put these two keys, in place of the empty ones, into\n    $place\n"
            "(Ogatak writes that file when it first runs; its menu Misc opens the folder). Start Ogatak again."
        ),
        places={
            "linux": "~/.config/Ogatak/config.json",
            "darwin": "~/Library/Application Support/Ogatak/config.json",
            "win32": r"%APPDATA%\Ogatak\config.json",
        },
    ),
}

OTHER_NAMES = {"kgsgtp": "kgs", "gtp2ogs": "ogs", "lizzieyzy": "lizzie"}
"""The names of programs, for those who know a server's program rather than the server."""


def configuration(controller: Controller, program: Sequence[str], options: Sequence[str]) -> str:
    """Return a controller's configuration for a program and the user's own options. Raises GoError."""
    # A configuration of the user's decides itself what the connection takes.
    has_own = not {"-config", "--config"}.isdisjoint(word.partition("=")[0] for word in options)
    own = [word for word in controller.options if not (has_own and word in _FAR_AWAY)]
    command = [*program, controller.verb, *own, *options]
    return Template(controller.text).substitute(command=controller.write(command))
