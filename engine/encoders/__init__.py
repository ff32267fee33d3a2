"""Turns positions into network inputs; lists every encoder under the name that network files store."""

from collections.abc import Mapping
from types import MappingProxyType

from engine.encoders import agz, gomoku, katago, leela, liberties, oneplane, reflexes
from engine.encoders.base import Encoder

__all__ = ["ENCODERS", "Encoder"]

ENCODERS: Mapping[str, Encoder] = MappingProxyType(
    {
        encoder.name: encoder
        for encoder in (
            agz.ENCODER,
            gomoku.ENCODER,
            leela.ENCODER,
            liberties.ENCODER,
            oneplane.ENCODER,
            reflexes.ENCODER,
            *katago.ENCODERS,
        )
    }
)
