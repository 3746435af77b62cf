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
seq 1 3 900000 >"$folder/big.txt" # megabytes

head -c 40000 /dev/urandom >"$folder/c.u32"
head -c 40000 /dev/urandom >"$folder/d.u64"
printf '18446744073709551615\n0\n7' >"$folder/e.txt" # the last line lacks its line feed
: >"$folder/empty.txt"
names="a.txt big.txt c.u32 d.u64 e.txt empty.txt"
for file in "${DATA:-/nowhere}"/postings/{uscensus2000.docs,census-income.docs,peps_para.freqs}.gz; do
    [ -f "$file" ] || continue
    gunzip -c "$file" >"$folder/$(basename "$file" .gz)"
    names+=" $(basename "$file" .gz)"
done
for name in $names; do
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
for verb in inspect verify; do
    "$build/tcudb" codec $verb "$folder/set.tcl" >/dev/full 2>"$folder/err"
    [ $? -eq 1 ] && grep -q 'standard output' "$folder/err" || { echo "$verb does not notice a full disk"; failed=1; }
done

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
