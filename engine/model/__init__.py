"""The forward pass of the hybrid family: Gated DeltaNet, gated attention, sparse experts."""
