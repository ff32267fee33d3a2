"""A process that speaks Keima's GTP with a player that only waits: `python -m tests.conformity.fake_engine`.

Options: `slow-start SECONDS` makes the player's loading last, `noisy` prints to stdout while it loads. A player that is
closed says so on stderr.
"""

import logging
import os
import sys
import time

from gtp.session import SessionConfig, run
from tests.gtp.fake_player import FakePlayer


class Leaving(FakePlayer):
    """Says that it was closed."""

    def close(self) -> None:
        """Say so."""
        super().close()
        os.write(2, b"closed in good order\n")


def main(arguments: list[str]) -> int:
    """Run the session."""
    logging.basicConfig(stream=sys.stderr)
    start = float(arguments[arguments.index("slow-start") + 1]) if "slow-start" in arguments else 0.0

    def make_player(width: int, height: int) -> FakePlayer:
        if "noisy" in arguments:
            print("a library greets you")
            os.write(1, b"and so does its C part\n")
        time.sleep(start)
        return Leaving(thinking="thinking" in arguments)

    return run(
        SessionConfig(width=9, height=9, fallback_seconds=3000.0 if "thinking" in arguments else 1.0), make_player
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
