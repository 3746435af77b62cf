#!/bin/bash
# 50 cycles of kill -9 in the store, 12 in statements; `make crash` runs 2,000 and 400.
"$BUILD/test/crash" 50 7 && exec python3 "$(dirname "$0")/sql_crash.py" 12 3
