"""Where a run wastes time and memory, each statement with its evidence, cost and remedy."""
