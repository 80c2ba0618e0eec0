"""Every rule against numbers: `table_*.py` lists functions and arguments, `check.py` says what must hold for each."""
