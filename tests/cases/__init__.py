"""What people asked other gradient engines and profilers for, as small programs with their right answers."""
