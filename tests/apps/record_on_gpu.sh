#!/bin/sh
# Compiles the applications here with NVIDIA's own tools, runs them on the GPU of this machine, and writes what each printed to the
# folder given: tests/data/apps has them from an H200.
set -u
out=$1
mkdir -p "$out/built"
for source in "$(dirname "$0")"/*.cu; do
    name=$(basename "$source" .cu)
    flags=$(sed -n '1s,^// flags:,,p' "$source")
    nvcc -O2 -arch=compute_75 "$source" -o "$out/built/$name" $flags || continue
    "$out/built/$name" > "$out/$name.txt"
    echo "$name: exit $?, $(tail -n 1 "$out/$name.txt")"
done
rm -r "$out/built"
tar -cf "$out.tar" -C "$out" .
