# Sourced: finds what builds for bare metal. rustup's toolchain where it has the target installed, else Debian's, which builds core from source.
#
#   . toolchain.sh
#   find_toolchain TARGET [rustup|debian]    sets toolchain, cargo, rustc, origin, clean and build; adds to `missing` what must be installed
#   need PROGRAM PACKAGE                     adds PACKAGE to `missing` unless there is such a program
#   install_missing YES                      installs what is missing with apt where YES is not empty, else says what is, and exits with 2
#
# Then: "${clean[@]}" "$cargo" "${build[@]}" ...     `clean` runs it without what in the environment would change the code.

stop() {
    printf '%s\n' "$@" >&2
    exit 2
}
has() { command -v "$1" >/dev/null; }
has_package() { [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }
has_rustup() { has rustup && rustup target list --installed 2>/dev/null | grep -qx "$1"; }

missing=()
need() { has "$1" || missing+=("$2"); }

find_toolchain() {
    local target=$1 name
    toolchain=${2:-}
    case $toolchain in
    '') if has_rustup "$target"; then toolchain=rustup; else toolchain=debian; fi ;;
    rustup) has_rustup "$target" || stop "rustup target add $target" ;;
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
        # By path: rustup's proxies come first in many a PATH, and cargo would ask them for a rustc that has no such target.
        clean+=(RUSTC=/usr/bin/rustc RUSTDOC=/usr/bin/rustdoc RUSTC_BOOTSTRAP=1 "CARGO_TARGET_$(tr a-z.- A-Z__ <<<"$target")_LINKER=ld.lld")
        cargo=/usr/bin/cargo rustc=/usr/bin/rustc origin="Debian's, core built from source"
        build+=(-Z build-std=core)
    else
        cargo=cargo rustc=rustc origin="rustup's, core as delivered"
    fi
}

install_missing() {
    local as_root=() advice
    if ((${#missing[@]} == 0)); then
        [[ -z $1 ]] || echo "Nothing to install" >&2
        return 0
    fi
    advice=("Missing: ${missing[*]}" "On Debian: $0 --install")
    has rustup && [[ $toolchain == debian ]] && advice+=("With rustup the compiler is had by: rustup target add ${build[3]}")
    [[ $1 ]] && has apt-get || stop "${advice[@]}"
    ((EUID == 0)) || as_root=(sudo)
    echo "Installing ${missing[*]}" >&2
    "${as_root[@]}" apt-get -qq update >&2
    # Nothing that is installed may go for it.
    DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get -qq install -y --no-install-recommends --no-remove \
        -o Dpkg::Use-Pty=0 "${missing[@]}" >/dev/null
    hash -r
}
