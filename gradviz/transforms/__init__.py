"""What users ask for: gradients, tangents, Jacobians, loops, checkpoints."""
