"""What a program is: rows of operations without side effects."""
