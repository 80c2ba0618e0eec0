"""How derivatives are taken: arrays, calls, rules, the tape, cotangents, the reverse walk, writes."""
