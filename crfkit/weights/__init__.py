"""Which features exist, and where the weight of each stands."""
