#!/bin/bash
# 50 cycles of kill -9; `make crash` runs 2,000.
exec "$BUILD/test/crash" 50 7
