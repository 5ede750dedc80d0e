# Sourced: installs the conformance suite, once for each lock file. Expects `here` (this directory).
# CONFORMANCE_DIR is where that and the results go (target/conformance).

# The suite needs Node 22, and fails without a useful message otherwise.
. "$here/../node/environment.sh"
CONFORMANCE_DIR=${CONFORMANCE_DIR:-$here/../../target/conformance}
mkdir -p "$CONFORMANCE_DIR"
CONFORMANCE_DIR=$(cd "$CONFORMANCE_DIR" && pwd)
npm_ci "$here" "$CONFORMANCE_DIR" --ignore-scripts
suite() { "$node" "$CONFORMANCE_DIR/node_modules/@modelcontextprotocol/conformance/dist/index.js" "$@"; }
