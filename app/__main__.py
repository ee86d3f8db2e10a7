"""`python -m app`: the desktop application."""

import sys

from app.ui.main import main

sys.exit(main())
