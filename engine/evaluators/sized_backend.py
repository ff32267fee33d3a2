"""A backend that computes each board size with the network that has its statistics, if there is one."""

import threading
from collections.abc import Callable, Mapping, Sequence
from weakref import WeakKeyDictionary

import numpy as np

from engine.evaluators.network import Backend, NativeBackend, Slot
from engine.evaluators.postprocess import meaning_of
from engine.native.closures import Closure
from engine.nets.spec import NetSpec, WeightsError
from weights.sized import Size, text_of


class SizedBackend:
    """Computes boards of some sizes with networks of their own; see `engine.evaluators.network.Backend`.

    of_all: computes all other sizes. networks: by columns and rows; they read and answer as that of `of_all`. make:
    creates the backend of one of them when its size is first asked for.
    """

    def __init__(self, of_all: Backend, networks: Mapping[Size, NetSpec], make: Callable[[NetSpec], Backend]) -> None:
        self._of_all, self._networks, self._make = of_all, networks, make
        self.name, self.parallel = of_all.name, of_all.parallel
        self.preferred_batch, self.max_batch = of_all.preferred_batch, of_all.max_batch
        self.native_threads = of_all.native_threads if isinstance(of_all, NativeBackend) else 0
        self.board_bytes = of_all.board_bytes
        # A network for one board size is compiled for no other one.
        self.model_bytes = of_all.model_bytes + of_all.board_bytes * len(networks)
        self._of_size: dict[Size, Backend] = {}
        # Slots of another size may still be computed while those of the next one are made.
        self._owners: WeakKeyDictionary[Slot, Backend] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def prepare(self, width: int, height: int) -> None:
        """Start compiling for a board size in the background."""
        self._backend_of(width, height).prepare(width, height)

    def slots(self, width: int, height: int) -> Sequence[Slot]:
        """Return the slots of a board size."""
        backend = self._backend_of(width, height)
        slots = backend.slots(width, height)
        for slot in slots:
            self._owners[slot] = backend
        return slots

    def infer(self, slot: Slot, count: int) -> None:
        """Compute rows 0..count-1."""
        self._owners[slot].infer(slot, count)

    def program(self, width: int, height: int) -> tuple[Slot, Closure]:
        """Return a slot and what computes its first rows, see `NativeBackend`."""
        backend = self._backend_of(width, height)
        assert isinstance(backend, NativeBackend)
        return backend.program(width, height)

    def close(self) -> None:
        """Free what all backends hold."""
        for backend in (self._of_all, *self._of_size.values()):
            backend.close()

    def _backend_of(self, width: int, height: int) -> Backend:
        network = self._networks.get((width, height))
        if network is None:
            return self._of_all
        with self._lock:
            found = self._of_size.get((width, height))
            if found is None:
                found = self._of_size[width, height] = self._make(network)
            return found


def require_same_use(spec: NetSpec, own: NetSpec, size: Size) -> None:
    """Raise WeightsError unless a network for one board size reads and answers as that of all, in whose place it is."""
    if not own.board_sizes[0] <= min(size) <= max(size) <= own.board_sizes[1]:
        raise WeightsError(f"{own.name} is not for {text_of(size)}", expected=text_of(size), got=own.board_sizes)
    wanted, found = _use_of(spec), _use_of(own)
    for what, expected in wanted.items():
        if found[what] != expected:
            raise WeightsError(f"{own.name}: {what} is not that of {spec.name}", expected=expected, got=found[what])


def _use_of(spec: NetSpec) -> dict[str, object]:
    meaning = meaning_of(spec)
    return {
        "encoder": spec.encoder,
        "number of inputs": (spec.planes, spec.globals, spec.metadata),
        "number of policies": (spec.policy.policies, spec.policy.optimistic),
        "kind of policy head": type(spec.policy).__name__,
        "number of results": spec.value.result.outputs,
        "scores": spec.scores,
        "ownership": spec.has_ownership,
        "meaning of outputs": [part.tolist() if isinstance(part, np.ndarray) else part for part in meaning],
    }
