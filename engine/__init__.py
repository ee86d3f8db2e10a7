"""Martlet's inference engine: mixture-of-experts models whose experts stream from the SSD.

A library that any Python program can embed. It knows no Qt, no app and no network (but for
`engine.container.hub`).
"""

__version__ = "0.1.0"
