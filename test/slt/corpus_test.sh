#!/bin/bash
# The sqllogictest corpus beside the checkout, as PostgreSQL passes it: FILE..., or all of it.
set -uo pipefail
[ $# -gt 0 ] && exec "$BUILD/tcudb_slt" "$@"
folder=$DATA/sqllogictest
if [ ! -d "$folder" ]; then
    echo "$folder is not there: real inputs are looked for beside the checkout or in TCUDB_DATA"
    exit 77
fi
exec "$BUILD/tcudb_slt" "$folder"/*.test.gz
