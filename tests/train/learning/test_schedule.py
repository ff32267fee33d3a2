"""The learning rate: what each schedule makes of a step and of the part of the run that is over."""

import pytest

from engine.train.learning.schedule import KlAdaptive, Schedule, cosine_factor, step_factor, warmup_factor
from engine.train.learning.train_config import TrainConfig
from engine.train.toml_settings import ConfigError, from_table


@pytest.mark.parametrize(("step", "expected"), [(0, 0.25), (1, 0.5), (3, 1.0), (100, 1.0)])
def test_the_warm_up_rises_evenly(step: int, expected: float) -> None:
    assert warmup_factor(step, 4) == expected


def test_without_a_warm_up_the_first_step_is_whole() -> None:
    assert warmup_factor(0, 0) == 1.0


@pytest.mark.parametrize(("progress", "expected"), [(0.0, 1.0), (0.5, 0.55), (1.0, 0.1), (1.5, 0.1)])
def test_the_cosine_falls_to_its_end(progress: float, expected: float) -> None:
    assert cosine_factor(progress, 0.1) == pytest.approx(expected)


@pytest.mark.parametrize(("progress", "expected"), [(0.0, 1.0), (0.49, 1.0), (0.5, 0.1), (0.75, 0.01), (1.0, 0.01)])
def test_steps_multiply(progress: float, expected: float) -> None:
    assert step_factor(progress, (0.75, 0.5), 0.1) == pytest.approx(expected)


def test_the_adaptive_factor_follows_the_divergence_within_bounds() -> None:
    adaptive = KlAdaptive(0.02)
    for kl in (0.02, 0.03, 0.011):
        adaptive.observe(kl)
    assert adaptive.factor == 1.0
    adaptive.observe(0.05)
    assert adaptive.factor == pytest.approx(1 / 1.5)
    for _ in range(50):
        adaptive.observe(1.0)
    assert adaptive.factor == 0.1
    for _ in range(50):
        adaptive.observe(0.0)
    assert adaptive.factor == 10.0


@pytest.mark.parametrize(
    ("schedule", "expected"), [("constant", 0.2), ("cosine", 0.1), ("step", 0.1), ("kl", 0.2 / 1.5)]
)
def test_the_rate_of_every_schedule(schedule: str, expected: float) -> None:
    config = from_table(
        TrainConfig,
        {"schedule": schedule, "learning_rate": 0.2, "warmup": 2, "final_rate": 0.0, "rate_steps": [0.5]}
        | {"rate_factor": 0.5, "kl_target": 0.01},
        "test",
    )
    made = Schedule(config)
    assert made.wants_kl(20) is (schedule == "kl")
    made.observe(1.0)
    assert made.rate(20, 0.5) == pytest.approx(expected)
    assert made.rate(0, 0.5) == pytest.approx(expected / 2)
    again = Schedule(config)
    again.restore(made.factor)
    assert again.rate(20, 0.5) == made.rate(20, 0.5)


def test_the_warm_up_does_not_raise_the_adaptive_rate() -> None:
    config = TrainConfig(schedule="kl", warmup=100, kl_every=10, learning_rate=0.2, kl_target=0.02)
    schedule = Schedule(config)
    measured = []
    for step in range(121):
        if schedule.wants_kl(step):
            measured.append(step)
            schedule.observe(0.0 if step < 100 else 0.02)
    assert measured == [100, 110, 120]
    assert schedule.rate(120, 0.5) == 0.2


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("batch_size", 0, "^file.toml: batch_size: expected an integer, 1 or more, got 0$"),
        ("ema_decay", 1.5, "^file.toml: ema_decay: expected a number from 0 to 1, got 1.5$"),
        ("weight_decay", -1.0, "^file.toml: weight_decay: expected a number, 0 or more, got -1.0$"),
        ("rate_steps", [1.5], "rate_steps: expected fractions"),
        ("schedule", "linear", "schedule: expected cosine or"),
        ("learning_rte", 1.0, "unknown key learning_rte"),
        ("steps", "many", "steps: expected an integer"),
    ],
)
def test_a_bad_number_of_the_configuration_is_refused(key: str, value: object, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        from_table(TrainConfig, {key: value}, "file.toml")
