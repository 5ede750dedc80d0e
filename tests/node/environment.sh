# Sourced: `node` is Node 22, installed once for each lock file, and `npm_ci` installs packages the same way.
# NODE_DIR is where it goes (target/node).

npm_ci() { # FROM TO [FLAG...]: exactly the packages that FROM locks, in TO/node_modules
    local from=$1 to=$2
    shift 2
    mkdir -p "$to"
    # A copy of the lock file shows whether an installation can be kept.
    if ! cmp -s "$from/package-lock.json" "$to/lock"; then
        rm -rf "$to/node_modules"
        cp "$from"/package*.json "$to/"
        npm ci --prefix "$to" --prefer-offline --no-audit --no-fund --loglevel=error "$@" >&2
        cp "$from/package-lock.json" "$to/lock"
    fi
}

NODE_DIR=${NODE_DIR:-$(dirname "${BASH_SOURCE[0]}")/../../target/node}
mkdir -p "$NODE_DIR"
NODE_DIR=$(cd "$NODE_DIR" && pwd)
# The scripts of the package `node` fetch the binary of this platform.
npm_ci "$(dirname "${BASH_SOURCE[0]}")" "$NODE_DIR"
node=$NODE_DIR/node_modules/node/bin/node
