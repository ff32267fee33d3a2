"""Records what a network does on an NVIDIA or AMD GPU, and repeats it by one call: a CUDA graph.

A network is some hundred kernels. Starting them one by one from Python holds the global lock, which the threads of the
search need as well; a recording is started by one call.
"""

import logging
import threading
from collections.abc import Callable

import torch

_LOG = logging.getLogger(__name__)
_FINE_FROM = 16
"""From this power of two on there are recordings for batches between two powers; smaller ones take the same time."""
_RECORDING = threading.Lock()
"""One recording at a time in a process."""


def recorded_rows(count: int, most: int) -> int:
    """Return the rows of a batch's recording: a power of two, or three quarters of a large one, at most `most`."""
    power = 1 << max(0, count - 1).bit_length()
    less = power * 3 // 4
    return min(most, less if count <= less and power > _FINE_FROM else power)


class Graphs:
    """Repeats one function for batches of different sizes on a stream of its own. Thread-safe, one call at a time.

    compute: starts the work of a number of rows on the present stream. It takes its inputs from, and leaves its results
    in, memory that is never moved, and does not wait for the device. most: rows of the largest batch.
    """

    def __init__(self, compute: Callable[[int], None], most: int, device: torch.device) -> None:
        self._compute, self._most = compute, most
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        # Blocking: a thread that waits for the GPU takes no CPU from those that walk the tree.
        self._done = torch.cuda.Event(blocking=True)  # type: ignore[no-untyped-call]
        self._memory = torch.cuda.graph_pool_handle()
        self._graphs: dict[int, torch.cuda.CUDAGraph] = {}
        self._can_record = True
        self._lock = threading.Lock()

    def prepare(self, count: int) -> None:
        """Record the work for a batch of `count` rows now, so that its first call takes no longer than others."""
        with self._lock:
            self._recording(recorded_rows(count, self._most))

    def run(self, count: int) -> None:
        """Compute at least the first `count` rows and wait for the results."""
        with self._lock:
            rows = recorded_rows(count, self._most)
            graph = self._recording(rows)
            with torch.cuda.stream(self._stream):
                if graph is None:
                    self._compute(rows)
                else:
                    graph.replay()
                self._done.record(self._stream)
            self._done.synchronize()

    def _recording(self, rows: int) -> torch.cuda.CUDAGraph | None:
        """Return the recording for a number of rows, made now if there is none; None if that is impossible here."""
        graph = self._graphs.get(rows)
        if graph is None and self._can_record:
            with _RECORDING, torch.cuda.stream(self._stream):
                graph = self._recorded(rows)
        return graph

    def _recorded(self, rows: int) -> torch.cuda.CUDAGraph | None:
        # Libraries choose their kernels and allocate memory in the first call.
        self._compute(rows)
        self._stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        try:
            # "thread_local": other threads go on using the device meanwhile. Not by `torch.cuda.graph`, which collects
            # Python's garbage and frees PyTorch's memory each time.
            graph.capture_begin(pool=self._memory, capture_error_mode="thread_local")
            try:
                self._compute(rows)
            finally:
                graph.capture_end()
        except RuntimeError as error:
            _LOG.warning("no CUDA graphs: %s", str(error).partition("\n")[0])
            self._can_record = False
            return None
        self._graphs[rows] = graph
        return graph
