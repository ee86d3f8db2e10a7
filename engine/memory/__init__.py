"""Memory: the plan (ledger), the pressure (macOS, Linux) and the governor between them."""
