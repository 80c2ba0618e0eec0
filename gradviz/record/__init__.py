"""The schema of a trace, its file, and the recorder that fills it."""
