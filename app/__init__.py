"""The application without a screen: controllers, stores, settings (QtCore only)."""

from engine import __version__ as __version__
