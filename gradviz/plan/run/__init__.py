"""Where values live, and the one function that runs a plan."""
