"""The Models window: what is on its way, what is installed, and what there is to download."""
