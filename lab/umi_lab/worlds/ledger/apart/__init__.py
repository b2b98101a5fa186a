"""Steps of a small world that use memories of their own: what each draws, says and expects. The ledger stays as it is meanwhile."""
