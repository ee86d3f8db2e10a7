"""Pictures of every state of the screen, to be looked at:

    python tests/ui/screenshots.py OUTDIR [WORD]

Makes one PNG for each scene, scheme and text size whose name holds WORD. Scenes are in
`tests.ui.scenes`; each builds the real widgets on fake controllers.
"""

import os
import sys
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from PySide6.QtCore import QElapsedTimer, QLocale
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QApplication, QWidget

from app.ui.appearance import plain_palette
from app.ui.transcript import TranscriptView
from app.ui.translation import install_translations
from tests.ui.scenes import SCENES, Scene, dispose

SETTLE_MS = 400  # layouts and slides
TYPESET_MS = 20_000  # at most, for the process that colours code and draws formulas


def main(outdir: Path, word: str = "") -> int:
    """Write the pictures; how many were written."""
    QLocale.setDefault(QLocale("en_GB"))
    application = QApplication(sys.argv[:1])
    install_translations(application, QLocale("en_GB"))
    system_font = QFont("Inter")  # what comes nearest to a Mac's
    system_font.setPixelSize(13)
    application.setFont(system_font)
    outdir.mkdir(parents=True, exist_ok=True)
    written = 0
    for dark in (False, True):
        QApplication.setPalette(plain_palette(dark=dark))
        for scene in SCENES:
            name = f"{scene.name}-{'dark' if dark else 'light'}"
            if word in name:
                _picture(scene, outdir / f"{name}.png")
                written += 1
    return written


def _picture(scene: Scene, target: Path) -> None:
    widget = scene.make()
    widget.resize(*scene.size)
    widget.show()
    _settle(widget)
    widget.grab().save(str(target))
    dispose(widget)


def _settle(widget: QWidget) -> None:
    """Until nothing has been typeset for a while: what has come is still to be put in its place."""
    whole, calm = QElapsedTimer(), QElapsedTimer()
    whole.start()
    calm.start()
    while calm.elapsed() < SETTLE_MS and whole.elapsed() < TYPESET_MS:
        QApplication.processEvents()
        if _is_typesetting(widget):
            calm.restart()


def _is_typesetting(widget: QWidget) -> bool:
    views = [widget, *widget.findChildren(TranscriptView)]
    return any(view.typesetter.is_busy for view in views if isinstance(view, TranscriptView))


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    count = main(Path(sys.argv[1]), *sys.argv[2:])
    sys.stdout.write(f"{count} pictures\n")
