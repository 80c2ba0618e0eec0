"""Which programs show what gradviz is for: three hunts for costly copies that people really had, and two real programs.

Each is a program as a user writes it. Its docstring tells the story; ``prepare(quick)`` makes the inputs, ``as_written(*inputs)`` is
the program as people wrote it, and ``by_gradviz(*inputs)`` the same computation as gradviz does it by default. Both return the same
numbers. ``gradviz demo`` runs and profiles them all.
"""

PROGRAMS = ("contraction", "evalpoly", "adam", "digits", "ising")
