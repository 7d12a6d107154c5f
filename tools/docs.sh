#!/usr/bin/env bash
# docs.sh FOLDER: make the API reference there, from the public headers and the guides.
# Anything that Doxygen does not understand is an error.
set -euo pipefail
folder=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "$0")/.."
SHOAL_VERSION=$(sed -n 's/^#define SHOAL_VERSION_STRING "\(.*\)"/\1/p' include/shoal/version.h)
SHOAL_DOCS=$folder
export SHOAL_VERSION SHOAL_DOCS
doxygen docs/Doxyfile
