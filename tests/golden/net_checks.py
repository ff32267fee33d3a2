"""Checks of what networks say of the golden positions, by any backend in any precision."""

from collections.abc import Mapping
from pathlib import Path

from engine.apps.net.golden import Comparison, Difference, compare, records_of, stem_of, tolerances_for
from engine.evaluation.evaluator import Evaluator
from engine.evaluators.kernel_backend import precisions
from engine.evaluators.network import NetworkEvaluator, Precision
from engine.nets.spec import NetSpec
from tests.golden.records import Golden, Report
from tests.shared import SHARED
from weights.registry import load

BACKENDS = ("torch", "openvino", "numba")
_SHOWN_FIRST = ("winrate", "policy", "lead")


def network_evaluator(spec: NetSpec, backend: str, precision: Precision) -> Evaluator:
    """Return the evaluator of a network; the CPU may imitate the precision. Raises ImportError without the backend."""
    if backend == "torch":
        from engine.evaluators.torch_backend import TorchBackend

        return NetworkEvaluator(spec, TorchBackend(spec, precision, "cpu"))
    if backend == "numba":
        from engine.evaluators.kernel_backend import NumbaBackend

        return NetworkEvaluator(spec, NumbaBackend(spec, precision))
    from engine.evaluators.openvino_backend import OpenVinoBackend

    return NetworkEvaluator(spec, OpenVinoBackend(spec, precision, emulate=True))


def network_files() -> Mapping[str, Path]:
    """Return the network files by the names that golden files give them."""
    return {stem_of(path.name): path for path in sorted((SHARED / "nets").iterdir())}


def networks_in(data: Golden) -> list[str]:
    """Return the names of the networks that a golden file has answers of."""
    if data["kind"] == "lz":
        names = {name for record in data["records"] for name in record["outputs"]}
    else:
        names = {record.get("net") or data["net"] for record in data["records"]}
    return sorted(stem_of(name) for name in names)


def check_networks(data: Golden, backend: str = "torch", precision: Precision = "fp32", every: int = 1) -> Report:
    """Compare every output of every network in the file, or of each network's records only every so many.

    Networks that the backend does not compute in the precision are left out.
    """
    report, files = Report(), network_files()
    differences: dict[str, Difference] = {}
    checked: set[str] = set()
    for name in networks_in(data):
        spec = load(files[name])
        if backend == "numba" and precision not in precisions(spec):
            continue
        evaluator = network_evaluator(spec, backend, precision)
        comparison = Comparison(tolerances_for(len(spec.blocks), precision), differences=differences)
        chosen = records_of(data, [name])[::every]
        compare(evaluator, chosen, comparison)
        evaluator.close()
        checked |= {record["id"] for record in chosen}
        report.wrong += [f"{name}: {line}" for line in comparison.wrong]
    report.checked = len(checked)
    for kind in sorted(differences, key=lambda kind: (kind not in _SHOWN_FIRST, kind)):
        found = differences[kind]
        report.largest = max(report.largest, found.largest)
        report.lines.append(f"{kind}: largest {found.largest:.2g}, mean {found.mean:.2g} ({found.where or 'nowhere'})")
    return report
