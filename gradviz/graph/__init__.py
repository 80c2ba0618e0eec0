"""What can be read out of a trace: its graph, memory, lanes, lines, and what differs from another."""
