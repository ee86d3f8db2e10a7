"""Translations: ours and Qt's own for the system's language; English plurals where there are none.

Made by `pyside6-lupdate` and `pyside6-lrelease`, see resources/translations.
"""

from pathlib import Path

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

FOLDER = Path(__file__).parents[2] / "resources" / "translations"


def install_translations(application: QCoreApplication, locale: QLocale) -> None:
    """From now on, words are in the language of `locale`, as far as they are translated."""
    ours = QTranslator(application)
    if ours.load(locale, "martlet", "_", str(FOLDER)) or ours.load("martlet_en", str(FOLDER)):
        application.installTranslator(ours)
    qts = QTranslator(application)
    folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
    if qts.load(locale, "qtbase", "_", folder):
        application.installTranslator(qts)
