"""Configurations of a run: presets, their overrides, and what a run that goes on accepts."""

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from engine.search.params import SearchParams, with_settings
from engine.train.generations.zero_config import (
    ZeroConfig,
    config_of_run,
    keep_config,
    preset_names,
    preset_text,
    read_config,
)
from engine.train.toml_settings import ConfigError, from_table, to_toml

PRESETS = ["19x19-cpu", "19x19-gpu", "9x9-cpu", "9x9-gpu", "agz-study", "tiny"]


def test_the_presets_are_packaged() -> None:
    assert preset_names() == PRESETS


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_can_be_read_and_is_the_same_after_writing(name: str) -> None:
    config = read_config(name)
    assert from_table(ZeroConfig, tomllib.loads(to_toml(config)), name) == config
    with_settings(SearchParams(), dict(config.selfplay.search))  # raises on an unknown parameter


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_gives_reasons(name: str) -> None:
    assert preset_text(name).startswith("# ")
    assert preset_text(name).count("#") >= (6 if "like = " in preset_text(name) else 10)


def test_the_study_has_alphago_zeros_numbers() -> None:
    config = read_config("agz-study")
    play, learn, gate = config.selfplay, config.train, config.gate
    assert (play.full_visits, play.full_share, play.noise_fraction) == (1600, 1.0, 0.25)
    assert play.noise_concentration / 361 == pytest.approx(0.03)
    assert [play.temperature_at(move, 19) for move in (0, 29, 30, 200)] == [1.0, 1.0, 0.0, 0.0]
    assert (play.encoder, learn.architecture, learn.blocks, learn.channels) == ("agz", "agz", 20, 256)
    assert (learn.optimizer, learn.momentum, learn.weight_decay) == ("sgd", 0.9, 1e-4)
    assert [round(share * learn.steps, -3) for share in learn.rate_steps] == [400_000, 600_000]
    assert (gate.games, gate.threshold, gate.test) == (400, 0.55, None)


def test_settings_replace_numbers_of_a_preset() -> None:
    config = read_config("tiny", ["run.games=7", "selfplay.sizes=[5, 6]", "rating.gnugo=gnugo --mode gtp"])
    assert (config.run.games, config.selfplay.sizes, config.rating.gnugo) == (7, (5, 6), "gnugo --mode gtp")
    assert config.train == read_config("tiny").train


@pytest.mark.parametrize(
    ("source", "setting", "message"),
    [
        ("tiny", "run.speed=3", "^tiny with run.speed=3: unknown key run.speed"),
        ("tiny", "selfplay.encoder=agz", "selfplay.encoder: expected that of the network"),
        ("tiny", "selfplay.sizes=[19]", r"selfplay.sizes: expected 5 to 9, got \[19\]"),
        ("tiny", "gate.games=3", "gate: games: expected an even number"),
        ("tiny", "selfplay.exploration.speed=1", "unknown key selfplay.exploration.speed"),
        ("agz-study", "selfplay.sizes=[9, 19]", "expected 19 to 19"),
        ("tiny", "window.alpha=0", "window: alpha: expected a number above 0 and at most 1, got 0.0"),
        ("9x9-cpu", "selfplay.komis=[7]", r"selfplay\.komis: expected none with run\.komi_gain"),
        ("tiny", "selfplay.noise_concentration=0", "noise_concentration: expected a number above 0, got 0"),
        ("tiny", "rating.gnugo=' '", "gnugo: expected a command, got ' '"),
        ("tiny", "rating.gnugo=gnugo '--mode", "gnugo: no command line: No closing quotation"),
        ("19x19-gpu", "run.komi_gain=1", r"run\.komi_gain: expected one board size"),
        (
            "tiny",
            "run.sizes_from=[1, 2]",
            r"run\.sizes_from: expected a generation for each of \[5\] from 1 on, got \[1, 2\]",
        ),
        (
            "tiny",
            "run.sizes_from=[2]",
            r"run\.sizes_from: expected a generation for each of \[5\] from 1 on, got \[2\]",
        ),
        ("19x19-cpu", "selfplay.size_weights=[0, 1, 1, 1, 1]", "size_weights: expected one above 0 in generation 1"),
        ("19x19-cpu", "rating.sizes=[9, 10]", r"rating\.sizes: expected some of selfplay\.sizes, .*, got \[9, 10\]"),
        ("tiny", "train.hours=2", r"train\.hours: expected 0, because run\.hours bounds"),
        ("tiny", "train.seed=5", r"train\.seed: expected 1; set run\.seed instead"),
        ("tiny", "train.human=true", r"train\.human: expected false"),
        ("tiny", "train.record_shares=[0.5]", r"train\.record_shares: expected none"),
        ("huge", "run.games=3", "unknown preset 'huge', expected 19x19-cpu or 19x19-gpu or"),
    ],
)
def test_a_wrong_number_is_named(source: str, setting: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_config(source, [setting])


def test_a_run_grows_to_larger_boards_and_is_rated_on_those_that_it_plays_on() -> None:
    config = read_config("19x19-cpu")
    assert [config.sizes_at(generation) for generation in (1, 60)] == [[9], [9]]
    assert [config.sizes_at(generation) for generation in (61, 85)] == [[9, 7, 11, 13], [9, 7, 11, 13]]
    assert config.sizes_at(86) == [9, 7, 11, 13, 19]
    assert [config.rated_sizes(generation) for generation in (60, 70, 90)] == [[9], [9, 13], [9, 13, 19]]
    late = read_config("tiny", ["selfplay.sizes=[7, 5]", "run.sizes_from=[3, 1]"])
    assert [late.rated_sizes(generation) for generation in (1, 3)] == [[5], [7]], "the first size that is played"


def test_a_file_has_what_it_lacks_from_the_preset_that_it_is_like(tmp_path: Path) -> None:
    path, preset = tmp_path / "mine.toml", read_config("9x9-cpu")
    path.write_text("like = '9x9-cpu'\n[run]\ngames = 3\n")
    assert read_config(str(path)) == replace(preset, run=replace(preset.run, games=3))
    path.write_text("like = 'agz-study'\n[selfplay.search]\nc_puct = '2'\n")
    assert dict(read_config(str(path)).selfplay.search) == {**read_config("agz-study").selfplay.search, "c_puct": "2"}
    path.write_text("like = 'mine'\n")
    with pytest.raises(ConfigError, match=r"mine\.toml: like: expected 19x19-cpu or .*, got 'mine'"):
        read_config(str(path))


def test_the_komi_follows_the_results_within_its_bounds() -> None:
    run = read_config("9x9-cpu").run
    assert run.next_komi(None, None, 7.0) == 0.5
    assert replace(run, net="zero9").next_komi(None, None, 7.0) == 7.0, "a network that is given does not pass early"
    assert run.next_komi(2.0, 0.75, 7.0) == 3.0
    assert run.next_komi(6.5, 1.0, 7.0) == 7.0
    assert run.next_komi(0.5, 0.0, 7.0) == 0.0
    assert run.next_komi(2.0, None, 7.0) == 2.0, "nothing was decided"


def test_a_file_of_ones_own_is_a_configuration(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[run]\ngames = 3\n")
    assert read_config(str(path)).run.games == 3
    path.write_text("[run]\nspeed = 3\n")
    with pytest.raises(ConfigError, match=r"mine\.toml: unknown key run.speed"):
        read_config(str(path))
    with pytest.raises(ConfigError, match=r"none\.toml: cannot be read"):
        read_config(str(tmp_path / "none.toml"))


def test_a_configuration_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_bytes(b"[run]\n# \xff\n")
    with pytest.raises(ConfigError, match=r"config\.toml: cannot be read: "):
        config_of_run(tmp_path)


def test_a_run_goes_on_with_its_own_configuration(tmp_path: Path) -> None:
    begun = config_of_run(tmp_path, "tiny", ["run.games=7"])
    keep_config(tmp_path, begun)
    assert config_of_run(tmp_path) == begun
    assert config_of_run(tmp_path, "tiny", ["run.games=7"]) == begun


@pytest.mark.parametrize(("kept", "missing"), [("", "run"), ("[window]", "window"), ("[rating]", "rating")])
def test_a_configuration_that_was_cut_off_is_not_filled_up_with_defaults(
    tmp_path: Path, kept: str, missing: str
) -> None:
    keep_config(tmp_path, config_of_run(tmp_path, "tiny"))
    path = tmp_path / "config.toml"
    text = path.read_text()
    path.write_text(text[: text.index(kept)])
    with pytest.raises(ConfigError, match=rf"config\.toml: \[{missing}\] is missing"):
        config_of_run(tmp_path)


def test_a_run_that_began_before_there_were_clusters_goes_on(tmp_path: Path) -> None:
    begun = config_of_run(tmp_path, "tiny")
    keep_config(tmp_path, begun)
    path = tmp_path / "config.toml"
    text = path.read_text()
    begin = text.index("[cluster]")
    end = text.find("\n[", begin)
    path.write_text(text[:begin] + (text[end + 1 :] if end > 0 else ""))
    assert "[cluster]" not in path.read_text()
    assert config_of_run(tmp_path) == begun


def test_a_run_refuses_other_numbers(tmp_path: Path) -> None:
    keep_config(tmp_path, config_of_run(tmp_path, "tiny"))
    with pytest.raises(ConfigError, match=r"config\.toml: run.games is 100 in this run but 7 in the command"):
        config_of_run(tmp_path, settings=["run.games=7"])
    with pytest.raises(ConfigError, match=r"run\.games is 100 in this run but 800"):
        config_of_run(tmp_path, "9x9-cpu")


def test_a_run_may_become_longer(tmp_path: Path) -> None:
    keep_config(tmp_path, config_of_run(tmp_path, "tiny", generations=2))
    settings = ["evaluator.threads=2", "rating.games=6", "train.learning_rate=1e-4"]
    keep_config(tmp_path, config_of_run(tmp_path, hours=1.5, generations=4, settings=settings))
    later = config_of_run(tmp_path)
    assert (later.run.generations, later.run.hours, later.evaluator.threads, later.rating.games) == (4, 1.5, 2, 6)
    assert later.train.learning_rate == 1e-4
    with pytest.raises(ConfigError, match="hours"):
        config_of_run(tmp_path, hours=-1)


def test_a_folder_without_a_run_asks_how_to_begin(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="contains no run: start one with --preset 19x19-cpu or"):
        config_of_run(tmp_path / "new")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["train.freeze=trunk"], r"train\.freeze: expected none without run\.net"),
        (
            ["cluster.gpu_share=0.5", "evaluator.precision=int8"],
            "expected fp32, bf16 or fp16 with cluster.gpu_share, got int8",
        ),
    ],
)
def test_settings_with_which_a_run_would_fail_or_teach_nothing_are_refused(
    tmp_path: Path, settings: list[str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        config_of_run(tmp_path, "tiny", settings)


def test_a_run_that_began_with_a_frozen_trunk_goes_on(tmp_path: Path) -> None:
    keep_config(tmp_path, read_config("tiny", ["train.freeze=trunk"]))
    assert config_of_run(tmp_path).train.freeze == "trunk"


def test_a_file_may_have_what_only_a_network_that_is_given_can_do(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[selfplay]\nsizes = [13]\n[train]\nboard_sizes = [5, 9]\nfreeze = 'trunk'\n")
    config = config_of_run(tmp_path / "run", str(file), net="zero9")
    assert (config.selfplay.sizes, config.train.freeze) == ((13,), "trunk")
    with pytest.raises(ConfigError, match=r"selfplay\.sizes: expected 5 to 9, got \[13\]"):
        config_of_run(tmp_path / "run", str(file))
