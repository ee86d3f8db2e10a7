"""`python -m app`: the desktop application; with `--self-test`, a look at all of its parts."""

import gc
import sys

if sys.argv[1:] == ["--self-test"]:
    from app.self_test import main
else:
    gc.disable()  # importing leaves no garbage; app.garbage collects from then on
    from app.ui.main import main

sys.exit(main())
