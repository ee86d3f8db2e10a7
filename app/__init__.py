"""The application without a screen: controllers, stores, settings (QtCore only)."""
