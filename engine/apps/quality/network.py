"""What identifies a network in stored references."""

import hashlib

from weights.shipped import network_named


def network_digest(net: str | None) -> str:
    """Return the name and a digest of the network's file, "rollouts" for none. net: the value of --net.

    Raises GoError if there is no such network.
    """
    file = network_named(net)
    if file is None:
        return "rollouts"
    from engine.evaluators.finding import find_network

    path = find_network(file)
    return f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()[:16]}"
