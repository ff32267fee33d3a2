"""Problems with known answers: reading them, framing them, searching them, and the figures of it."""
