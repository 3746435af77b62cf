#!/bin/bash
# The fuzz targets for a few seconds each; `make fuzz SECONDS_EACH=600` runs them longer.
command -v clang-14 >/dev/null || { echo "clang-14 is not installed"; exit 77; }
exec "$(dirname "$0")/run" 5
