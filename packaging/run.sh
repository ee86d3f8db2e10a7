#!/usr/bin/env bash
# Opens the app; without a display, the terminal chat on the built-in model.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "$(uname)" = Darwin ] || [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
    exec .venv/bin/python -m app "$@"
fi
exec .venv/bin/martlet chat demo "$@"
