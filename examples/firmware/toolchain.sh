# Sourced: finds a toolchain for bare metal and the emulators. rustup's toolchain if it has or can add the target; else Debian's, which builds core
# from source.
#
#   . toolchain.sh                           appends the programs below target/packages to PATH
#   find_toolchain TARGET [rustup|debian]    sets toolchain, cargo, rustc, origin, clean and build; adds to `missing` what must be installed. With the
#                                            variable `install` set it adds TARGET to rustup's toolchain
#   need PROGRAM PACKAGE                     adds PACKAGE to `missing` unless there is such a program
#   install_missing YES                      installs missing packages if YES is not empty, else prints them and exits with 2
#
# Then: "${clean[@]}" "$cargo" "${build[@]}" ...     `clean` removes environment variables that would change the code.
#
# install_missing never removes packages. Packages that conflict with installed ones, or that would need root, are downloaded with their dependencies
# and unpacked below target/packages; a script there starts each program with its own libraries.

stop() {
    printf '%s\n' "$@" >&2
    exit 2
}
has() { command -v "$1" >/dev/null; }
unpacked=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/target/packages
export PATH=$PATH:$unpacked/bin
is_unpacked() { grep -qsx "$1" "$unpacked/installed"; }
is_installed() { [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }
has_package() { is_installed "$1" || is_unpacked "$1"; }
# The release of the figures in tests/size/budget.txt if rustup can install it, else the default one.
has_rustup() { has rustup && rustup target list --installed ${release:+--toolchain "$release"} 2>/dev/null | grep -qx "$1"; }
add_to_rustup() {
    has rustup || return
    [[ -z ${release:-} ]] || rustup toolchain install "$release" --profile minimal --no-self-update >/dev/null 2>&1 || return
    rustup target add ${release:+--toolchain "$release"} "$1" >/dev/null 2>&1
}

missing=()
need() { has "$1" || missing+=("$2"); }

find_toolchain() {
    local target=$1 name
    toolchain=${2:-}
    if [[ $toolchain != debian && ${install:-} ]] && ! has_rustup "$target"; then add_to_rustup "$target" || true; fi
    case $toolchain in
    '') if has_rustup "$target"; then toolchain=rustup; else toolchain=debian; fi ;;
    rustup) has_rustup "$target" || stop "rustup target add ${release:+--toolchain $release }$target" ;;
    debian) ;;
    *) stop "--toolchain is rustup or debian" ;;
    esac

    clean=(env)
    for name in $(compgen -e); do
        case $name in
        RUSTFLAGS | RUSTC | RUSTC_* | CARGO_ENCODED_RUSTFLAGS | CARGO_BUILD_* | CARGO_PROFILE_* | CARGO_TARGET_* | CARGO_UNSTABLE_*)
            clean+=(-u "$name")
            ;;
        esac
    done
    build=(build --release --target "$target")
    if [[ $toolchain == debian ]]; then
        for name in rustc-web cargo-web rust-web-src lld; do
            has_package "$name" || missing+=("$name")
        done
        has cc || missing+=(gcc libc6-dev)
        # By path: rustup's proxies often come first in PATH, and cargo would call their rustc, which lacks the target.
        local bin=/usr/bin
        is_installed rustc-web || bin=$unpacked/bin
        clean+=("RUSTC=$bin/rustc" "RUSTDOC=$bin/rustdoc" RUSTC_BOOTSTRAP=1 "CARGO_TARGET_$(tr a-z.- A-Z__ <<<"$target")_LINKER=ld.lld")
        cargo=$bin/cargo rustc=$bin/rustc origin="Debian's, core built from source"
        build+=(-Z build-std=core)
    else
        cargo=cargo rustc=rustc origin="rustup's, core as delivered"
        [[ -z ${release:-} ]] || clean+=("RUSTUP_TOOLCHAIN=$release")
    fi
}

install_missing() {
    local advice package beside=() aside=() as_root=() apt=(apt-get)
    if ((${#missing[@]} == 0)); then
        [[ -z $1 ]] || echo "Nothing to install" >&2
        return 0
    fi
    advice=("Missing: ${missing[*]}" "On Debian: $0 --install")
    has rustup && [[ $toolchain == debian ]] && advice+=("With rustup: rustup target add ${build[3]}")
    [[ $1 ]] && has apt-get || stop "${advice[@]}"
    if ((EUID != 0)); then
        if sudo -n true 2>/dev/null; then
            as_root=(sudo)
        else
            # Package lists of its own, which need no root.
            mkdir -p "$unpacked/lists/partial" "$unpacked/cache/archives/partial"
            apt+=(-o Dir::State::Lists="$unpacked/lists" -o Dir::Cache="$unpacked/cache")
            aside=("${missing[@]}")
        fi
    fi
    "${as_root[@]}" "${apt[@]}" -qq update >&2 || echo "Not all package lists could be updated" >&2
    if ((${#aside[@]} == 0)); then
        for package in "${missing[@]}"; do
            if installs_beside "${beside[@]}" "$package"; then beside+=("$package"); else aside+=("$package"); fi
        done
    fi
    if ((${#beside[@]})); then
        echo "Installing ${beside[*]}" >&2
        DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get -qq install -y --no-install-recommends --no-remove \
            -o Dpkg::Use-Pty=0 "${beside[@]}" >/dev/null
    fi
    ((${#aside[@]} == 0)) || unpack "${aside[@]}"
    missing=()
    hash -r
}

installs_beside() { apt-get -s -qq install --no-install-recommends --no-remove "$@" >/dev/null 2>&1; }

unpack() { # PACKAGE...: unpacks packages and their dependencies below target/packages. Uses `apt`
    local planned wanted=() file name libraries data
    echo "Unpacking $* below $unpacked, since installing would remove something or needs root" >&2
    # Only simulated, so this may plan to remove packages.
    planned=$("${apt[@]}" -s install --no-install-recommends "$@") || stop "apt cannot install $*"
    mapfile -t wanted < <(sed -nE 's/^Inst ([^ ]+) (\[[^]]*\] )?\(([^ ]+).*/\1=\3/p' <<<"$planned")
    mkdir -p "$unpacked/debs" "$unpacked/root" "$unpacked/bin"
    (cd "$unpacked/debs" && rm -f ./*.deb && "${apt[@]}" -qq download "${wanted[@]}" >&2 2>/dev/null) || stop "cannot download ${wanted[*]}"
    for file in "$unpacked"/debs/*.deb; do
        dpkg-deb --extract "$file" "$unpacked/root"
    done
    rm -rf "$unpacked/debs" "$unpacked/cache"

    libraries=$(find "$unpacked/root" -name 'lib*.so*' -printf '%h\n' | sort -u | grep -E '/lib(/[a-z0-9_]+-linux-[a-z]+)?(/pulseaudio)?$' | paste -sd :)
    for file in "$unpacked"/root/usr/bin/*; do
        [[ -x $file && ! -d $file ]] || continue
        name=${file##*/} data=
        case $name in qemu-system-*) data=" -L '$unpacked/root/usr/share/qemu'" ;; esac
        printf '#!/bin/sh\n' >"$unpacked/bin/$name"
        printf "LD_LIBRARY_PATH='%s'\"\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}\" exec '%s'%s \"\$@\"\n" "$libraries" "$file" "$data" >>"$unpacked/bin/$name"
        chmod +x "$unpacked/bin/$name"
    done
    printf '%s\n' "$@" >>"$unpacked/installed"
}
