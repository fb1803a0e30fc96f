"""Learning from data in shards, which workers hold: processes here, or on other machines."""
