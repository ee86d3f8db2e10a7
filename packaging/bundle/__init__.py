"""What builds and reads a bundle. Standard library only; run by `packaging/build_app.py`."""
