"""What gradviz does on the command line: ``gradviz demo | run | report | compare | export | check``."""

from gradviz.cli.main import main

__all__ = ["main"]
