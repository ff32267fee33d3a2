"""`keima analysis`: KataGo's JSON analysis protocol on stdin and stdout, with KataGo's options beside Keima's.

KataGo writes long options with one dash; both spellings mean the same here. Imports nothing heavy before it runs.
"""

import sys
from dataclasses import replace
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from engine.errors import GoError
from engine.records.human_profiles import MEASURED_PROFILE
from engine.settings.command import Command, refuse_given, search_keys
from engine.settings.options import options_of
from engine.settings.searching import read_settings, refuse_unused, refuse_without_human, search_params
from engine.settings.session_files import eval_cache_file, refuse_unused_eval_cache
from engine.settings.table import default_of, settings_on
from engine.settings.table.surfaces import GTP
from engine.support.logs import start_logging
from engine.support.stopping import INTERRUPTED, interrupting
from gtp.json_analysis.settings import Settings, overridden
from gtp.katago_config import ANALYSIS_KEYS, Assignments, assignments, lines_without_effect
from gtp.stderr import write_lines

if TYPE_CHECKING:
    from engine.search.params import SearchParams
    from gtp.json_analysis.server import Equipment
    from gtp.remote.analysis_sessions import AnalysisSessions

_READY = "Started, ready to begin handling requests"
"""Said on stderr, in KataGo's words."""
_ROUNDS = 3
_WARM_UP_SIZE = 19
"""The board that most queries are about."""
_FALSE = "false"


@click.command(cls=Command, keys=search_keys)
@options_of("analysis", settings=read_settings, eval_cache=eval_cache_file)
@click.pass_context
def analysis(ctx: click.Context, /, **options: Any) -> None:
    """Speak KataGo's JSON analysis protocol on stdin and stdout, or to clients on the network, for KaTrain and scripts.

    Many positions are analyzed at the same time, and their leaves evaluated together. Winrates and score leads are
    Black's unless reportAnalysisWinratesAs says otherwise.
    """
    from gtp.session import take_stdout

    start_logging(options["log_level"])
    refuse_unused(options)
    limits = {name: options[name] for name in ("visits", "seconds") if _is_given(ctx, name)}
    given = _assignments(options)
    settings = replace(_settings(given, options), **limits)
    threads = options["analysis_threads"] or _thread_count(given)
    if options["benchmark"] is not None:
        sys.exit(_benchmark(_equipment(settings, threads, options), options["benchmark"]))
    if options["listen"] is not None:
        refuse_given({"quit_without_waiting"}, "is for the end of stdin: not with --listen")
        _listen(settings, threads, options)
        return
    refuse_given({"token_file", "connections", "most_open"}, "is only for --listen")
    sink = take_stdout()
    equipment = _equipment(settings, threads, options)
    _serve(equipment, sink, quits_at_once=options["quit_without_waiting"])


def _assignments(options: dict[str, Any]) -> Assignments:
    """Return the configuration: of the files in order, then of the command line."""
    return assignments(options["configs"], options["override_config"])


def _settings(given: Assignments, options: dict[str, Any]) -> Settings:
    """Return what queries start with by the configuration, --set and the options of the search."""
    refuse_unused_eval_cache(options["eval_cache"], options["settings"])
    params = search_params(
        options["net"],
        {},
        options["settings"],
        seed=options["seed"],
        max_memory_mib=options["max_memory"],
        human_profile=options["profile"],
    )
    # KataGo's defaults for analysis. The moves before a position must not change its evaluation.
    defaults = {"wide_root_noise": default_of("analysis_noise", GTP), "ignores_past": True}
    params = replace(params, **{name: value for name, value in defaults.items() if name not in options["settings"]})
    warns = given.get("warnUnusedFields", "true").lower() != _FALSE
    settings, unused = overridden(Settings(params, warns_unused=warns), given)
    refuse_without_human(settings.params, options)
    write_lines(lines_without_effect(each for each in unused if each not in ANALYSIS_KEYS))
    return settings


def _is_given(ctx: click.Context, name: str) -> bool:
    """Return whether an option stands on the command line: there it counts more than the configuration."""
    return ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _equipment(settings: Settings, threads: int | None, options: dict[str, Any]) -> "Equipment":
    """Load the network, compile the kernels and start the threads. Takes seconds.

    threads: positions at a time, None for as many as keep the evaluator busy.
    Raises GoError or WeightsError, one line, where the network cannot be used.
    """
    from engine.apps.analysis_server.pool import AnalysisPool, default_threads
    from engine.evaluators.cache import CachedEvaluator
    from engine.evaluators.factory import open_networks
    from engine.search.memory_file import open_memory
    from engine.support.memory import return_large_blocks
    from gtp.json_analysis.server import Equipment

    return_large_blocks()
    opened = open_networks(options, settings.params.human_profile, may_lack_profile=True)
    if opened.tree_mib is not None:
        settings = replace(settings, params=replace(settings.params, max_memory_mib=opened.tree_mib))
    human = None if opened.human is None else opened.human.evaluator
    imitates = any(each is not None and each.facts.imitates for each in (opened.network, opened.human))
    settings = replace(
        settings,
        has_human=human is not None,
        has_profile=imitates,
        needs_profile=opened.network is not None and opened.network.facts.imitates,
    )
    caches = [each for each in (opened.evaluator, human) if isinstance(each, CachedEvaluator)]

    opened.warn_of_idle_human(settings.params.human_profile, "by queries that have one in overrideSettings")
    count = threads or default_threads(opened.evaluator)
    if options["eval_cache"] is not None:
        settings = replace(settings, params=replace(settings.params, remembers=True))
    network = None if opened.network is None else opened.network.facts.file
    memory = open_memory(options["eval_cache"], network)
    pool = AnalysisPool(opened.evaluator, count, settings.params.max_memory_mib, human, memory)

    def forget() -> None:
        for cache in caches:
            cache.clear()
        pool.memory.clear()

    equipment = Equipment(pool, settings, opened.network, forget, opened.human)
    least, most = equipment.sizes
    size = min(max(_WARM_UP_SIZE, least), most)
    pool.warm_up(size, size, _with_profile(settings))
    return equipment


def _with_profile(settings: Settings) -> "SearchParams":
    """Return the parameters, with some profile where the network needs one."""
    params = settings.params
    lacks = settings.needs_profile and not params.human_profile
    return replace(params, human_profile=MEASURED_PROFILE) if lacks else params


def _thread_count(given: Assignments) -> int | None:
    text = given.get("numAnalysisThreads")
    if text is None:
        return None
    try:
        return int(settings_on("analysis")["analysis_threads"].read(text))
    except GoError as error:
        raise GoError(f"numAnalysisThreads: {error}") from None


def _serve(equipment: "Equipment", sink: FileIO, *, quits_at_once: bool) -> None:
    """Hold the session of the process."""
    from gtp.json_analysis.server import AnalysisServer
    from gtp.session import take_stdin

    write_lines([f"{_READY}: {equipment.pool.threads} positions at a time"])
    try:
        # Whoever ends an engine by a signal loses nothing that it keeps in files.
        with interrupting():
            AnalysisServer(equipment, sink).run(take_stdin(), quits_at_once=quits_at_once)
    except KeyboardInterrupt:
        equipment.pool.close(wait=False)
        sys.exit(INTERRUPTED)
    equipment.pool.evaluator.close()


def _listen(settings: Settings, threads: int | None, options: dict[str, Any]) -> None:
    """Serve clients on the network until Ctrl-C."""
    from gtp.remote.server import serve_clients

    def open_sessions() -> "AnalysisSessions":
        from gtp.remote.analysis_sessions import AnalysisSessions

        return AnalysisSessions(_equipment(settings, threads, options), options["most_open"])

    serve_clients(options["listen"], options["token_file"], options["connections"], open_sessions)


def _benchmark(equipment: "Equipment", file: Path) -> int:
    """Print how fast the queries of a file are analyzed. Raises GoError for a query that cannot be."""
    from engine.apps.analysis_server.bench import compare
    from engine.support.progress import ProgressBar
    from gtp.json_analysis.benchmark import read_tasks, table

    pool = equipment.pool
    pool.close()
    with ProgressBar(sys.stderr) as bar:
        found = compare(
            pool.inner,
            lambda: read_tasks(file, equipment.settings, equipment.sizes),
            pool.threads,
            equipment.settings.params.max_memory_mib,
            rounds=_ROUNDS,
            forget=equipment.clear_cache,
            bar=bar,
        )
    click.echo(table(found))
    return 0
