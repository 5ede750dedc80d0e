# Sourced: installs the conformance suite, once for each lock file. Expects `here` (this directory).
# CONFORMANCE_DIR is where that and the results go (target/conformance).

CONFORMANCE_DIR=${CONFORMANCE_DIR:-$here/../../target/conformance}
mkdir -p "$CONFORMANCE_DIR"
CONFORMANCE_DIR=$(cd "$CONFORMANCE_DIR" && pwd)

if ! cmp -s "$here/package-lock.json" "$CONFORMANCE_DIR/lock"; then
    rm -rf "$CONFORMANCE_DIR/node_modules"
    cp "$here"/package*.json "$CONFORMANCE_DIR/"
    # The scripts of the package `node` fetch the binary of this platform.
    npm ci --prefix "$CONFORMANCE_DIR" --no-audit --no-fund --loglevel=error >&2
    cp "$here/package-lock.json" "$CONFORMANCE_DIR/lock"
fi

# The suite needs Node 22, and fails without a useful message otherwise.
node=$CONFORMANCE_DIR/node_modules/node/bin/node
suite() { "$node" "$CONFORMANCE_DIR/node_modules/@modelcontextprotocol/conformance/dist/index.js" "$@"; }
