"""How a plan runs on a device: the steps of the host's plans, launched without a wait."""
