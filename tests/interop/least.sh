# Sourced: makes runs of too few cases fail. least.tsv has how many cases pass with each client, server or pair of them. Expects `here` (tests/interop).

enough() { # SUITE NAME REPORT: adds a failure to the report if fewer cases passed than in least.tsv
    local passed least
    # Some cases only, or a server that offers less.
    [ -z "${INTEROP_CASE:-}${INTEROP_ANY:-}" ] || return 0
    least=$(awk -v suite="$1" -v name="$2" '$1 == suite && $2 == name { print $3 }' "$here/least.tsv")
    passed=$(grep -c '^PASS' "$3" 2>/dev/null || true)
    if [ -z "$least" ]; then
        echo "FAIL $2: least.tsv has no row for it in $1" | tee -a "$3"
    elif [ "${passed:-0}" -lt "$least" ]; then
        echo "FAIL $2: ${passed:-0} cases passed, at least $least must ($1)" | tee -a "$3"
    fi
}
