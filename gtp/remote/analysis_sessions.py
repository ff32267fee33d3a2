"""Sessions of the analysis protocol for clients on the network: one pool of searches, in which clients take turns."""

from dataclasses import replace

from engine.apps.analysis_server.answer import to_line
from gtp.json_analysis.server import AnalysisServer, Equipment
from gtp.remote.connection import Connection


class AnalysisSessions:
    """A session for each connection, on one pool.

    most_open: positions of a client that wait, are searched, or have an answer that was not sent yet.
    """

    def __init__(self, equipment: Equipment, most_open: int) -> None:
        self._most_open = most_open
        settings = replace(equipment.settings, most_turns=most_open)
        # The cache belongs to all clients: none may clear it.
        self._equipment = Equipment(equipment.pool, settings, equipment.network, human=equipment.human)

    def serve(self, connection: Connection) -> None:
        """Run the session of a client until the end of its input and its last answer, or until it is gone."""
        AnalysisServer(self._equipment, connection, self._most_open).converse(connection, is_lost=connection.is_lost)

    def refusal(self, text: str) -> bytes:
        """Return the error line for a client that gets no session."""
        return to_line({"error": text}).encode()

    def close(self) -> None:
        """Cancel all searches, and close the pool and its evaluator."""
        self._equipment.pool.close(wait=False)
        self._equipment.pool.evaluator.close()
