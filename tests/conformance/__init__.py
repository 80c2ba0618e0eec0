"""Other projects' suites, run on gradviz."""
