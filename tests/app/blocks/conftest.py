"""Qt without a screen."""

import os

os.environ["QT_QPA_PLATFORM"] = "offscreen"  # before anything imports Qt
