"""Ready configurations for the programs that Keima plays through: their texts, and the command that prints them."""
