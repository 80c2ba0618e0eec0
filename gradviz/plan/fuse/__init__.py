"""Which nodes run together, as one kernel."""
