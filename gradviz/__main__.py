"""What ``python -m gradviz`` does: the same as the command ``gradviz``."""

from __future__ import annotations

import sys

from gradviz.cli import main

if __name__ == "__main__":
    sys.exit(main())
