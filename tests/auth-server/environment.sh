# Sourced: installs the authorization servers, once for each lock file, and starts them until the script ends.
# `issuer[NAME]` is the issuer of one, `person` the command of a person who signs in, `events` what the servers report,
# `authorization_process` the process of them all.
# AUTHORIZATION_DIR is where all of it goes (target/authorization), AUTHORIZATION_RUN a name for the files of this run.
. "$(dirname "${BASH_SOURCE[0]}")/../node/environment.sh"

AUTHORIZATION_DIR=${AUTHORIZATION_DIR:-$(dirname "${BASH_SOURCE[0]}")/../../target/authorization}
mkdir -p "$AUTHORIZATION_DIR"
AUTHORIZATION_DIR=$(cd "$AUTHORIZATION_DIR" && pwd)
npm_ci "$(dirname "${BASH_SOURCE[0]}")" "$AUTHORIZATION_DIR" --ignore-scripts
# Copies beside node_modules, where the modules are looked for.
cp "$(dirname "${BASH_SOURCE[0]}")"/*.mjs "$AUTHORIZATION_DIR/"
person=("$node" "$AUTHORIZATION_DIR/person.mjs")

servers=$AUTHORIZATION_DIR/${AUTHORIZATION_RUN:-servers}
rm -rf "$servers"
mkdir -p -m 700 "$servers"
events=$servers/events.jsonl
: >"$events"
# They end with their input, which this script holds open.
exec {authorization_servers}> >(exec "$node" "$AUTHORIZATION_DIR/servers.mjs" "$servers" >"$servers/issuers" 2>"$servers/stderr")
authorization_process=$!
for _ in $(seq 300); do
    [ ! -s "$servers/issuers" ] || break
    sleep 0.1
done
declare -A issuer
while read -r name url; do issuer[$name]=$url; done <"$servers/issuers"
((${#issuer[@]})) || { echo "the authorization servers did not start:" >&2; cat "$servers/stderr" >&2; exit 1; }
