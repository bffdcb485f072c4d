#!/usr/bin/env bash
# Opens pages of `daelight report` and the studio in Chromium and uses them: tests/browser/run.sh [DAELIGHT], or --prepare to install only.
#
# Installs Chromium, Node and playwright-core where they are missing and can be had; says so loudly where they cannot.
# Pages and screenshots are kept in target/browser.
set -euo pipefail
cd "$(dirname "$0")/../.."
daelight=${1:-target/release/daelight}
driver=playwright-core@1.65.0

skip() {
    echo "**** SKIPPED: the browser tests did not run: $1 ****" >&2
    exit 0
}

install() {
    local root=""
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || return 1
        root="sudo -n"
    fi
    command -v apt-get >/dev/null || return 1
    { $root apt-get update -qq && $root apt-get install -y -qq --no-install-recommends "$@"; } >/dev/null 2>&1
}

command -v chromium >/dev/null || install chromium fonts-dejavu-core || skip "no Chromium here, and none to be installed"
command -v npm >/dev/null || install nodejs npm || skip "no Node.js here, and none to be installed"
out=$PWD/target/browser
rm -rf "$out/pages" "$out/screenshots"
mkdir -p "$out/pages" "$out/screenshots"
npm install --prefix "$out" --no-save --no-package-lock --no-audit --no-fund --silent "$driver" \
    || skip "$driver cannot be had"
if [ "${1:-}" = --prepare ]; then exit; fi
[ -x "$daelight" ] || { echo "error: there is no program $daelight" >&2; exit 2; }

page() {
    "$daelight" -q report "${@:2}" --out "$out/pages/$1.html"
}
page robotic-arm robotic-arm
page andrews andrews-constraints --set a[1]=0.03 --set a[2]=0.055
page delta-robot delta-robot
page e12 e12
page pendulum pendulum
page andrews-run andrews
page four-bar four-bar
page chain pendulum-chain --set N=100
page hostile tests/browser/hostile.mo
page broken tests/browser/broken.mo 2>/dev/null || true

NODE_PATH="$out/node_modules" CHROMIUM="$(command -v chromium)" node tests/browser/pages.cjs "$out"
NODE_PATH="$out/node_modules" CHROMIUM="$(command -v chromium)" node tests/browser/studio.cjs "$out" "$PWD/${daelight#"$PWD/"}"
