#!/usr/bin/env bash
# All the set-up that `make run` and `make test` need, on macOS (arm64) and on a bare Debian or
# Ubuntu with Python 3.11 or newer. Does nothing, quickly, when everything is there.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.tools/bin:$PATH"

qt_packages="libegl1 libgl1 libxkbcommon0 libdbus-1-3 libfontconfig1 libglib2.0-0 libx11-6
libxcb-cursor0 libxcb-icccm4 libxcb-keysyms1 libxcb-image0 libxcb-render-util0 libxcb-shape0
libxcb-xkb1 libxcb-randr0 libxcb-sync1 libxcb-xfixes0 libxkbcommon-x11-0"

# Debian packages, where apt and our rights allow it; says the line to run where they do not.
install_packages() {
    local packages="$*" root=""
    command -v apt-get >/dev/null || { echo "Please install: $packages" >&2; return 1; }
    if [ "$(id -u)" -ne 0 ]; then
        sudo -n true 2>/dev/null || {
            echo "Please run: sudo apt-get update && sudo apt-get install -y $packages" >&2
            return 1
        }
        root="sudo"
    fi
    export DEBIAN_FRONTEND=noninteractive
    $root apt-get update -qq
    $root apt-get install -y -qq --no-install-recommends $packages >/dev/null
}

# uv goes into the project, never into the user's system.
pip_uv() { python3 -m pip install --quiet --disable-pip-version-check --target .tools uv 2>/dev/null; }
get_uv() {
    command -v uv >/dev/null && return
    echo "Fetching uv into .tools" >&2
    pip_uv && return
    if command -v curl >/dev/null; then
        curl -LsSf https://astral.sh/uv/install.sh 2>/dev/null |
            env UV_INSTALL_DIR="$PWD/.tools/bin" UV_NO_MODIFY_PATH=1 sh >/dev/null 2>&1 &&
            command -v uv >/dev/null && return
    fi
    install_packages python3 python3-pip && pip_uv && return
    echo "uv could not be fetched; see https://docs.astral.sh/uv/getting-started/installation/" >&2
    exit 1
}

# An interpreter that is there comes before a download; an existing environment before both.
sync() {
    local found=""
    [ -x .venv/bin/python ] || found=$(uv python find --no-python-downloads '>=3.11,<3.14' 2>/dev/null) || true
    uv sync --quiet --frozen --all-extras ${found:+--python "$found"}
}

qt_opens() { .venv/bin/python -c 'import PySide6.QtWidgets' 2>/dev/null; }
check_qt() {
    local stamp=.venv/.qt-opens
    [ "$(uname)" != Linux ] || [ "$stamp" -nt uv.lock ] || qt_opens ||
        { echo "Installing the libraries that Qt needs" >&2; install_packages $qt_packages; } ||
        echo "Without them the terminal and the engine work; the window does not." >&2
    [ "$(uname)" != Linux ] || [ "$stamp" -nt uv.lock ] || ! qt_opens || touch "$stamp"
}

get_uv
sync
check_qt
