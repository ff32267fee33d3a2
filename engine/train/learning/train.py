"""The training loop, to be read from top to bottom: batches in, a run folder out.

A run folder holds config.toml, start.safetensors (the network it began with), metrics.jsonl, tensorboard/,
checkpoints/ (see `engine.train.learning.checkpoint`) and net.safetensors, the newest average of the weights in Keima's
format.
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
from engine.train.data.batches import Prefetcher, Source, as_source
from engine.train.learning.checkpoint import newest_checkpoint
from engine.train.learning.device_batch import TrainingError, to_device
from engine.train.learning.devices import Devices
from engine.train.learning.learner import Learner, policy_change
from engine.train.learning.loss import loss
from engine.train.learning.metrics import MetricsLog
from engine.train.learning.run_folder import NET_FILE, open_run, save_run, write_run_config
from engine.train.learning.step_metrics import StepMetrics
from engine.train.learning.train_config import TrainConfig
from weights import native

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
    limit = 3600 * config.hours or math.inf
    with Devices(config) as devices:
        # The network and what belongs to it, new or as the last checkpoint had it.
        if devices.main:
            open_run(run, config, start)
        devices.wait()
        spec = open_run(run, config, start, write=False)
        learner, source = Learner(spec, config, devices.device), as_source(data)
        step, samples, seconds, drawn = 0, 0, 0.0, source.state()
        checkpoint = newest_checkpoint(run)
        if checkpoint is not None:
            learner.restore(checkpoint)
            step, samples, seconds = checkpoint.step, checkpoint.state["samples"], checkpoint.state["seconds"]
            drawn = (checkpoint.state["data"] + [None] * devices.world)[devices.rank]
            if drawn is not None:
                source.restore(drawn)
        if devices.main:
            write_run_config(run, config)
        net, optimizer, schedule = learner.net, learner.optimizer, learner.schedule
        computed = devices.parallel(cast(nn.Module, torch.compile(net, dynamic=False)) if config.compile else net)
        log = MetricsLog(run, step) if devices.main else None
        metrics, figures = StepMetrics(spec), dict[str, float]()
        begun, saved_at, over = time.monotonic() - seconds, None if checkpoint is None else step, False
        trained: NetSpec | None = None

        def save() -> NetSpec:
            state = {"step": step, "samples": samples, "seconds": seconds, "data": devices.gathered(drawn)}
            return save_run(run, config, learner, state) if devices.main else learner.average.net.to_spec()

        with Prefetcher(source, config.prefetch) as batches:
            while step < config.steps and not over:
                # A batch, and the learning rate of its step.
                waited = time.perf_counter()
                batch = batches.next()
                if batch is None:
                    break
                waited = time.perf_counter() - waited
                rate = schedule.rate(step, max(step / config.steps, seconds / limit))
                learner.set_rate(rate)

                # Forward, backward, step.
                inputs, targets = to_device(batch, spec, devices.device)
                with devices.autocast():
                    predictions = computed(*inputs)
                result = loss(predictions, targets, spec, config)
                optimizer.zero_grad(set_to_none=True)
                result.total.backward()  # type: ignore[no-untyped-call]
                norm = nn.utils.clip_grad_norm_(learner.parameters, config.gradient_norm or math.inf)
                optimizer.step()
                learner.average.update(net, step)
                if schedule.wants_kl(step):
                    schedule.observe(devices.mean(policy_change(net, inputs, predictions, devices)))
                if batch.indices is not None:
                    source.update(batch.indices, result.per_sample.cpu().numpy())
                step, samples, drawn = step + 1, samples + devices.world * len(batch.samples), batches.state
                metrics.add(predictions, targets, result, norm, devices.world * len(batch.samples), waited)

                # Say how it goes, see whether it is over, keep what was learned.
                if devices.world == 1 or step % _ASKED_EVERY == 0:
                    seconds = devices.largest(time.monotonic() - begun)
                    over = devices.largest(float(stop is not None and stop.is_set())) > 0 or seconds >= limit
                if step % config.log_every == 0 or step == config.steps:
                    figures = metrics.take() | {"learning_rate": rate}
                    if not math.isfinite(figures["gradient_norm"]):
                        raise TrainingError(f"{run}: the gradient is not finite at step {step}; lower learning_rate")
                    if log is not None:
                        log.write(step, figures | {"samples": samples, "seconds": seconds})
                        left = (config.steps - step) * (samples / step) / figures["samples_per_s"]
                        report(Progress(step, config.steps, min(left, limit - seconds), figures))
                if step % config.checkpoint_every == 0:
                    trained, saved_at = save(), step
        if step != saved_at:
            trained = save()
        if log is not None:
            log.close()
        return TrainResult(step, trained or native.read(run / NET_FILE), figures, finished=step >= config.steps)
