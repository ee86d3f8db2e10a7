"""The Settings window: what a person can choose. Every change acts at once; there is no OK."""
