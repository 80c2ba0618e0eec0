"""Every exception a user can meet.

A message says what happened, where, and what to do about it.
"""

from __future__ import annotations


class GradvizError(Exception):
    """Base of all errors that gradviz raises on purpose."""
