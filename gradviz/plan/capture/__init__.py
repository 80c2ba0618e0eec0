"""A function run once on captured values, which write down every call they take part in."""
