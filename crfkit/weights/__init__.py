"""Which features exist, and where each weight is stored."""
