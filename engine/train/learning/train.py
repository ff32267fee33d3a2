"""The training loop: reads batches, writes a run folder.

A run folder contains config.toml, start.safetensors (the initial network), metrics.jsonl, tensorboard/, checkpoints/
(see `engine.train.learning.checkpoint`) and net.safetensors, the newest averaged weights in Keima's format. With boards
of several sizes there are also net.sizes/9x9.safetensors and so on, the same with the statistics of one size.
An interrupted run is resumed from its last checkpoint. Under torchrun every process draws its own batches and
gradients are averaged (DistributedDataParallel); only the first process writes.
"""

import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from torch import nn

from engine.nets.spec import NetSpec
from engine.train.data.batches import Prefetcher, Source, as_source
from engine.train.learning.checkpoint import newest_checkpoint
from engine.train.learning.device_batch import LossReports, TrainingError, host_batch
from engine.train.learning.devices import Devices, compiled
from engine.train.learning.learner import Learner, policy_change
from engine.train.learning.loss import loss
from engine.train.learning.metrics import MetricsLog
from engine.train.learning.run_folder import NET_FILE, open_run, save_run, write_run_config
from engine.train.learning.step_metrics import StepMetrics
from engine.train.learning.train_config import TrainConfig
from weights import native

__all__ = ["Progress", "TrainConfig", "TrainResult", "TrainingError", "train"]
# Interval in steps at which several processes agree whether to stop; each agreement waits for the slowest.
_ASKED_EVERY = 10


@dataclass(frozen=True)
class Progress:
    """The progress of a run.

    seconds_left: None before the first line of metrics. figures: means over the steps of the newest line, as in
    metrics.jsonl; empty before it.
    """

    step: int
    steps: int
    seconds_left: float | None
    figures: Mapping[str, float]

    @property
    def text(self) -> str:
        """The step, and the loss once it is known."""
        loss = self.figures.get("loss")
        return f"step {self.step} of {self.steps}{'' if loss is None else f', loss {loss:.4f}'}"


@dataclass(frozen=True)
class TrainResult:
    """The result of a run: its last step, the averaged weights, the last metrics, and whether all steps are done."""

    step: int
    net: NetSpec
    figures: Mapping[str, float]
    finished: bool


# Long on purpose: the loop reads from top to bottom, and its dozen local variables would go through every helper.
def train(
    config: TrainConfig,
    data: Source | Iterable[tuple[Any, ...]],
    run: Path,
    *,
    start: NetSpec | None = None,
    report: Callable[[Progress], None] = lambda _: None,
    stop: threading.Event | None = None,
) -> TrainResult:
    """Train until the configured step or hour, until `stop` is set, or until the data end.

    data: batches of `config.batch_size` for this process. start: the initial network, None for random weights.
    report: called for every line of metrics, and for every step before the first one, which slow steps keep waiting.
    Raises TrainingError, CheckpointError or WeightsError if the run cannot start or continue.
    """
    limit = 3600 * config.hours or math.inf
    with Devices(config) as devices:
        # The first process creates the folder while the others wait; then all read the same network from it.
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
            # The checkpoint may be of fewer processes; a new one starts from its own seed.
            drawn = (checkpoint.state["data"] + [None] * devices.world)[devices.rank]
            if drawn is not None:
                source.restore(drawn)
            source.restore_priorities(checkpoint.priorities(devices.rank))
        if devices.main:
            write_run_config(run, config)
        net, optimizer, schedule = learner.net, learner.optimizer, learner.schedule
        computed = devices.parallel(compiled(net) if config.compile else net)
        log = MetricsLog(run, step) if devices.main else None
        metrics, figures = StepMetrics(spec), dict[str, float]()
        begun, saved_at = time.monotonic() - seconds, None if checkpoint is None else step
        over = checkpoint is not None and seconds >= limit
        trained: NetSpec | None = None
        losses = LossReports(source)

        def progress() -> float:
            return max(step / config.steps, seconds / limit)

        def save() -> NetSpec:
            losses.flush()
            priorities = devices.gathered(source.priorities())
            state = {"step": step, "samples": samples, "seconds": seconds, "data": devices.gathered(drawn)}
            learner.inputs.join(devices.gathered(learner.inputs.tensors()))
            if devices.main:
                return save_run(run, config, learner, state, priorities)
            return learner.inputs.without_constant(learner.average.net.to_spec())

        source.anneal(progress())
        with Prefetcher(source, config.prefetch, partial(host_batch, spec=spec, device=devices.device)) as batches:
            while step < config.steps and not over:
                # The time spent waiting shows in the metrics whether reading or computing is the bottleneck.
                waited = time.perf_counter()
                batch = batches.next(stop if devices.world == 1 else None)
                if batch is None:
                    break
                waited = time.perf_counter() - waited
                source.anneal(progress())
                rate = schedule.rate(step, progress())
                learner.set_rate(rate)

                learner.inputs.note(batch.tensors["globals"])
                # Forward and backward pass. Without a bound on the norm, clipping by infinity still measures it.
                inputs, targets = batch.to_device()
                with devices.autocast(), learner.sizes.noting(batch.width, batch.height):
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
                    losses.add(batch.indices, result.per_sample)
                step, samples, drawn = step + 1, samples + devices.world * len(batch), batches.state
                metrics.add(predictions, targets, result, norm, devices.world * len(batch), waited)

                # Logging and checkpoints. The gradient is tested only here: each test waits for the device.
                if devices.world == 1 or step % _ASKED_EVERY == 0:
                    seconds = devices.largest(time.monotonic() - begun)
                    over = devices.largest(float(stop is not None and stop.is_set())) > 0 or seconds >= limit
                if step % config.log_every == 0 or step == config.steps:
                    figures = metrics.take() | {"learning_rate": rate}
                    if not math.isfinite(figures["gradient_norm"]):
                        advice = "lower learning_rate, or look for a damaged shard"
                        raise TrainingError(f"{run}: the gradient is not finite at step {step}; {advice}")
                    if log is not None:
                        log.write(step, figures | {"samples": samples, "seconds": seconds})
                        left = (config.steps - step) * (samples / step) / figures["samples_per_s"]
                        report(Progress(step, config.steps, min(left, limit - seconds), figures))
                elif not figures and devices.main:
                    report(Progress(step, config.steps, None, figures))
                if step % config.checkpoint_every == 0:
                    trained, saved_at = save(), step
        if step != saved_at:
            trained = save()
        if log is not None:
            log.close()
        return TrainResult(step, trained or native.read(run / NET_FILE), figures, finished=step >= config.steps)
