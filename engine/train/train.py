"""The training loop, to be read from top to bottom: batches in, a run folder out.

A run folder holds config.toml, start.safetensors (the network it began with), metrics.jsonl, tensorboard/,
checkpoints/ (see `engine.train.checkpoint`) and net.safetensors, the newest average of the weights in Keima's format.
A run that was stopped at any moment goes on from its last checkpoint. Under torchrun every process draws batches of
its own and their gradients are averaged (DistributedDataParallel); the first process writes.
"""

import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

from engine.nets.spec import NetSpec
from engine.train.batches import Prefetched, Source, as_source
from engine.train.checkpoint import newest_checkpoint, restore_module
from engine.train.devices import Devices
from engine.train.feeding import TrainingError, fed
from engine.train.gathering import Gathered
from engine.train.loss import loss
from engine.train.metrics import MetricsLog
from engine.train.network import TrainableNet
from engine.train.optimizing import Average, make_optimizer, policy_change, restore_optimizer
from engine.train.run_folder import open_run, save_run
from engine.train.schedule import Schedule
from engine.train.train_config import TrainConfig

__all__ = ["Progress", "TrainConfig", "TrainResult", "TrainingError", "train"]
_ASKED_EVERY = 10
"""Steps after which several processes agree whether to stop."""


@dataclass(frozen=True)
class Progress:
    """Where a run is. figures: means over the last steps, as in metrics.jsonl."""

    step: int
    steps: int
    seconds_left: float
    figures: Mapping[str, float]


@dataclass(frozen=True)
class TrainResult:
    """What a run came to: its last step, the average of the weights, the last figures, and whether it is done."""

    step: int
    net: NetSpec
    figures: Mapping[str, float]
    finished: bool


def train(
    config: TrainConfig,
    data: Source | Iterable[tuple[Any, ...]],
    run: Path,
    *,
    start: NetSpec | None = None,
    report: Callable[[Progress], None] = lambda _: None,
    stop: threading.Event | None = None,
) -> TrainResult:
    """Train until the configuration's last step or hour, until `stop` is set or the data end.

    data: batches of `config.batch_size`, for this process. start: the network to begin with; None for random weights.
    report: is told of every line of metrics.
    Raises TrainingError, CheckpointError or WeightsError where the run cannot begin or go on.
    """
    with Devices(config) as devices:
        # The network and what belongs to it, new or as the last checkpoint had it.
        if devices.main:
            open_run(run, config, start)
        devices.wait()
        spec = open_run(run, config, start, write=False)
        net = TrainableNet(spec, freeze_trunk=config.freeze == "trunk", norms=config.norms, seed=config.seed)
        net = net.to(devices.device, memory_format=torch.channels_last).train()  # type: ignore[call-overload]
        average = Average(net, config.ema_decay)
        optimizer = make_optimizer(config, net)
        schedule, source = Schedule(config), as_source(data)
        step, samples, seconds, drawn = 0, 0, 0.0, source.state()
        checkpoint = newest_checkpoint(run)
        if checkpoint is not None:
            restore_module(net, checkpoint, "model")
            restore_module(average.net, checkpoint, "ema")
            restore_optimizer(optimizer, net, checkpoint)
            step, samples, seconds = checkpoint.step, checkpoint.state["samples"], checkpoint.state["seconds"]
            schedule.restore(checkpoint.state["rate_factor"])
            drawn = (checkpoint.state["data"] + [None] * devices.world)[devices.rank]
            if drawn is not None:
                source.restore(drawn)
        computed = devices.parallel(cast(nn.Module, torch.compile(net, dynamic=False)) if config.compile else net)
        log = MetricsLog(run, step) if devices.main else None
        gathered, figures = Gathered(spec), dict[str, float]()
        learning = [each for each in net.parameters() if each.requires_grad]
        begun, saved_at, stopped = time.monotonic() - seconds, step, False

        def save() -> NetSpec:
            state: dict[str, Any] = {"step": step, "samples": samples, "seconds": seconds, "rate_factor": schedule.factor}
            state["data"] = devices.gathered(drawn)
            return (
                save_run(run, config, (net, average.net), optimizer, state) if devices.main else average.net.to_spec()
            )

        with Prefetched(source, config.prefetch) as batches:
            while step < config.steps and not stopped:
                # A batch, and the learning rate of its step.
                waited = time.perf_counter()
                batch = batches.next()
                if batch is None:
                    break
                waited = time.perf_counter() - waited
                progress = max(step / config.steps, seconds / (3600 * config.hours) if config.hours else 0.0)
                rate = schedule.rate(step, progress)
                for group in optimizer.param_groups:
                    group["lr"] = rate

                # Forward, backward, step.
                inputs, targets = fed(batch, spec, devices.device)
                with devices.autocast():
                    predictions = computed(*inputs)
                result = loss(predictions, targets, spec, config)
                optimizer.zero_grad(set_to_none=True)
                result.total.backward()  # type: ignore[no-untyped-call]
                norm = nn.utils.clip_grad_norm_(learning, config.gradient_norm or math.inf)
                optimizer.step()
                average.update(net, step)
                if schedule.wants_kl(step):
                    schedule.observe(devices.mean(policy_change(net, inputs, predictions, devices)))
                if batch.indices is not None:
                    source.update(batch.indices, result.per_sample.cpu().numpy())
                step += 1
                samples += devices.world * len(batch.samples)
                seconds, drawn = time.monotonic() - begun, batches.state
                gathered.add(predictions, targets, result, norm, devices.world * len(batch.samples), waited)

                # Say how it goes, keep what was learned, see whether it is over.
                if step % config.log_every == 0 or step == config.steps:
                    figures = gathered.take() | {"learning_rate": rate}
                    if not math.isfinite(figures["gradient_norm"]):
                        raise TrainingError(f"{run}: the gradient is not finite at step {step}; lower learning_rate")
                    if log is not None:
                        log.write(step, figures | {"samples": samples, "seconds": seconds})
                        report(
                            Progress(
                                step,
                                config.steps,
                                _seconds_left(config, step, seconds, devices.world, figures),
                                figures,
                            )
                        )
                if devices.world == 1 or step % _ASKED_EVERY == 0:
                    over = (stop is not None and stop.is_set()) or bool(config.hours and seconds > 3600 * config.hours)
                    stopped = devices.largest(float(over)) > 0.0
                if step % config.checkpoint_every == 0:
                    save()
                    saved_at = step
        net_spec = save() if step > saved_at or checkpoint is None else average.net.to_spec()
        if log is not None:
            log.close()
        return TrainResult(step, net_spec, figures, finished=step >= config.steps)


def _seconds_left(config: TrainConfig, step: int, seconds: float, world: int, figures: Mapping[str, float]) -> float:
    """Return how long a run goes on at its speed of the last steps."""
    each = world * config.batch_size / figures["samples_per_s"]
    left = (config.steps - step) * each
    return min(left, 3600 * config.hours - seconds) if config.hours else left
