"""What need not be computed, and what is computed better together."""
