#!/bin/bash
# `tcudb codec`: files come back byte for byte; bad arguments, files and devices end with a message and 1 or 3, never else.
set -uo pipefail
build=${BUILD:-build}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
codec() { timeout 120 "$build/tcudb" codec "$@" >"$folder/out" 2>"$folder/err"; }
# expect STATUS WORDS ARGUMENTS...: the exit status, and words in what is said
expect() {
    local status=$1 words=$2
    shift 2
    codec "$@"
    local got=$?
    if [ $got -ne "$status" ] || { [ -n "$words" ] && ! grep -qiE "$words" "$folder/out" "$folder/err"; }; then
        echo "codec $*: exit status $got instead of $status, or no /$words/: $(head -c 300 "$folder/err")"
        failed=1
    fi
}

seq 1 7 70000 >"$folder/a.txt"

head -c 40000 /dev/urandom >"$folder/c.u32"
: >"$folder/empty.txt"
for name in a.txt c.u32; do
    for scheme in vse pfor best; do
        expect 0 '' encode "$folder/$name" -o "$folder/set.tcl" -f --codec $scheme
        expect 0 '' verify "$folder/set.tcl"
        expect 0 '[0-9]' inspect "$folder/set.tcl"
        expect 0 '' decode "$folder/set.tcl" -o "$folder/back" -f
        cmp -s "$folder/$name" "$folder/back" || { echo "$name with $scheme does not come back"; failed=1; }
    done
done

expect 1 'usage|encode' nonsense
expect 1 '' encode
expect 1 'no such file' encode "$folder/absent.txt"
expect 1 'no such file' verify "$folder/absent.tcl"
expect 1 '' encode "$folder/a.txt" --codec lzma
expect 1 '' encode "$folder/a.txt" --as pictures
expect 1 '' inspect "$folder/set.tcl" --list many
expect 1 'directory|read' decode "$folder"
expect 3 '' verify "$folder/a.txt"
expect 3 '' decode "$folder/empty.txt" -o "$folder/back" -f
expect 1 'space|written|write' encode "$folder/a.txt" -o /dev/full -f
expect 1 '' encode "$folder/a.txt" -o "$folder/absent/x.tcl"

# Damage: each is noticed or harmless; never another end.
codec encode "$folder/a.txt" -o "$folder/set.tcl" -f
size=$(stat -c %s "$folder/set.tcl")
noticed=0
for at in 0 7 8 40 79 100 $((size / 3)) $((size / 2)) $((size - 65)) $((size - 1)); do
    cp "$folder/set.tcl" "$folder/bad.tcl"
    printf '\xa5' | dd of="$folder/bad.tcl" bs=1 seek="$at" conv=notrunc status=none
    for command in verify "decode -o $folder/back -f" inspect; do
        # shellcheck disable=SC2086
        codec ${command%% *} "$folder/bad.tcl" $([[ $command == *' '* ]] && echo "${command#* }")
        got=$?
        [ $got -eq 0 ] || [ $got -eq 3 ] || { echo "byte $at changed, ${command%% *}: exit status $got"; failed=1; }
        [ $got -eq 3 ] && [ ! -s "$folder/err" ] && { echo "byte $at changed, ${command%% *}: not a word"; failed=1; }
        [ $got -eq 3 ] && noticed=$((noticed + 1))
    done
    head -c "$at" "$folder/set.tcl" >"$folder/bad.tcl"
    expect 3 '' verify "$folder/bad.tcl"
done
[ $noticed -ge 15 ] || { echo "only $noticed of 30 damages were noticed"; failed=1; }
exit $failed
