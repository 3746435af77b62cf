#!/bin/bash
# make install into an empty folder; the example is built against it through pkg-config and through CMake, and run.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD:-$root/build}
[ -z "${SANITIZE:-}" ] || { echo "a plain program cannot use a sanitizer's library"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "FAIL: $*"; exit 1; }

# What `make` installs is enough to build all but the unit tests: without cmocka there are none.
cmake -S "$root" -B "$folder/bare" -G Ninja -DCMOCKA= >"$folder/log" 2>&1 || fail "$(tail -5 "$folder/log")"
targets=$(ninja -C "$folder/bare" -t targets all)
grep -q '^tcudb: ' <<<"$targets" || fail "without cmocka there is no target tcudb"
! grep -qE '_test\.c|^[a-z_]*_test: ' <<<"$targets" || fail "without cmocka unit tests are built"

DESTDIR="$folder/stage" cmake --install "$build" --prefix /opt/tcudb >"$folder/log" || fail "$(tail -5 "$folder/log")"
prefix=$folder/stage/opt/tcudb
for file in bin/tcudb include/tcudb.h share/man/man1/tcudb.1 share/bash-completion/completions/tcudb; do
    [ -e "$prefix/$file" ] || fail "$file is not installed"
done
library=$(dirname "$(find "$prefix" -name libtcudb.so)")

exported=$(nm -D --defined-only "$library/libtcudb.so" | awk '$2 ~ /[A-Z]/ {print $3}')
stray=$(grep -v '^tcudb_' <<<"$exported" || true)
[ -z "$stray" ] || fail "exported besides tcudb_*: $stray"
for name in $(grep -oE '\btcudb_[a-z0-9_]+\(' "$root/include/tcudb.h" | tr -d '(' | sort -u); do
    [ "$name" = tcudb_is_null ] && continue # inline
    grep -qx "$name" <<<"$exported" || fail "$name is declared but not exported"
done

[ "$("$prefix/bin/tcudb" -qAt -c 'select 1 + 1')" = 2 ] || fail "the installed shell does not run"

export PKG_CONFIG_PATH=$library/pkgconfig PKG_CONFIG_SYSROOT_DIR=$folder/stage
[ "$(pkg-config --modversion tcudb)" = "$("$prefix/bin/tcudb" --version | cut -d' ' -f2)" ] || fail "pkg-config's version"
# shellcheck disable=SC2046
cc -std=c99 -Wall -Wextra -Wpedantic -Werror "$root/examples/query.c" $(pkg-config --cflags --libs tcudb) -o "$folder/query"
expected=$'Lagos       17.5\nLima        29.0\nOslo         6.0'
[ "$(LD_LIBRARY_PATH=$library "$folder/query" "$folder/weather.tcu")" = "$expected" ] || fail "the example's answer"
[ "$(wc -l <"$root/examples/query.c")" -lt 60 ] || fail "the example has 60 lines or more"

sed 's/tcudb.h>/tcudb.h>\n#include <cstdio>/' >"$folder/header.cc" <<<$'#include <tcudb.h>\nint main() { return tcudb_version() == nullptr; }'
if command -v c++ >/dev/null; then
    # shellcheck disable=SC2046
    c++ -Wall -Werror "$folder/header.cc" $(pkg-config --cflags --libs tcudb) -o "$folder/header"
fi

cmake -S "$root/examples" -B "$folder/cmake" -DCMAKE_PREFIX_PATH="$prefix" >"$folder/log" 2>&1 || fail "$(tail -20 "$folder/log")"
cmake --build "$folder/cmake" >"$folder/log" 2>&1 || fail "$(tail -20 "$folder/log")"
[ "$("$folder/cmake/query")" = "$expected" ] || fail "the answer of the example built with CMake"
make -s -C "$root" uninstall BUILD="$build" DESTDIR="$folder/stage" >"$folder/log" || fail "$(tail -5 "$folder/log")"
[ -z "$(find "$folder/stage" -type f -o -type l)" ] || fail "uninstalled, there is still $(find "$folder/stage" -type f -o -type l)"
echo "installed, compiled, ran and uninstalled"
