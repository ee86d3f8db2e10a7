#!/usr/bin/env bash
# Signs a bundle on a Mac, from the inside out, and checks the signatures.
#
#     packaging/sign.sh dist/Martlet.app                                      for this Mac alone
#     packaging/sign.sh dist/Martlet.app "Developer ID Application: NAME (TEAM)"      to give away
#
# Signed for this Mac alone there is no hardened runtime: it would refuse libraries without a team.
set -euo pipefail
app=$1
identity=${2:--}
here=$(cd "$(dirname "$0")" && pwd)

options=(--force --sign "$identity")
main=("${options[@]}")
if [ "$identity" != - ]; then
    options+=(--timestamp --options runtime)
    main=("${options[@]}" --entitlements "$here/entitlements.plist")
fi

contents="$app/Contents"
find "$contents" -type f \( -name '*.dylib' -o -name '*.so' \) -print0 |
    xargs -0 -n 32 codesign "${options[@]}"
for framework in "$contents"/Resources/site-packages/PySide6/Qt/lib/*.framework; do
    codesign "${options[@]}" "$framework"
done
codesign "${main[@]}" "$app"
codesign --verify --deep --strict --verbose=2 "$app"
