#!/bin/sh
# consume.sh install BUILD | pkg-config SOURCE | find-package PROJECT SOURCES
#
# Installs Ripieno to $SCRATCH/first and moves it to $SCRATCH/moved, or builds and runs a program against that.
set -eu
moved=$SCRATCH/moved
# Nothing but the moved tree may provide the library.
unset LD_LIBRARY_PATH PKG_CONFIG_PATH

case $1 in
install)
  rm -rf "$SCRATCH"
  "$CMAKE" --install "$2" --prefix "$SCRATCH/first" >/dev/null
  mv "$SCRATCH/first" "$moved"
  for file in "$LIBDIR/libnccl.so" "$LIBDIR/libnccl.so.2" "$LIBDIR/libripieno.so" \
    "$LIBDIR/ripieno/host/libcudart.so.13" include/nccl.h include/ripieno/host/cuda_runtime.h; do
    test -e "$moved/$file" || { echo "not installed: $file"; exit 1; }
  done
  ;;
pkg-config)
  export PKG_CONFIG_PATH="$moved/$LIBDIR/pkgconfig"
  # Word splitting of flags is wanted.
  # shellcheck disable=SC2046,SC2086
  $CC $CFLAGS "$2" $(pkg-config --cflags --libs nccl ripieno-host) -o "$SCRATCH/by_pkg_config"
  "$SCRATCH/by_pkg_config"
  ;;
find-package)
  "$CMAKE" -S "$2" -B "$SCRATCH/by_find_package" -G "$GENERATOR" -DCMAKE_PREFIX_PATH="$moved" \
    -DEXAMPLES="$3" >/dev/null
  "$CMAKE" --build "$SCRATCH/by_find_package" >/dev/null
  "$SCRATCH/by_find_package/all_reduce"
  ;;
esac
