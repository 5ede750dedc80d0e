# Sourced: installs the dependencies of the SDK programs, once for each lock file. Expects `here` (this directory) and `build`.
# A copy of the lock file shows whether an installation can be kept.
shopt -s inherit_errexit # otherwise an installation that failed inside of $(..) would get its copy

alone() { # NAME: waits until no other process installs this environment. Ends with the subshell of $(..)
    exec 9>"$build/$1.installing"
    flock 9
}

python_for() { # NAME: a virtual environment with exactly python/requirements-NAME.txt
    local env=$build/$1 lock=$here/python/requirements-$1.txt
    alone "$1"
    if ! cmp -s "$lock" "$env/lock"; then
        rm -rf "$env"
        python3 -m venv "$env" >&2
        "$env/bin/pip" install --quiet --disable-pip-version-check --no-deps --requirement "$lock" >&2
        cp "$lock" "$env/lock"
    fi
    echo "$env/bin/python"
}

node_for() { # a copy of the scripts next to exactly the locked node_modules
    local dir=$build/typescript
    mkdir -p "$dir/typescript/servers"
    alone typescript
    if ! cmp -s "$here/typescript/package-lock.json" "$dir/lock"; then
        rm -rf "$dir/typescript/node_modules"
        cp "$here"/typescript/package*.json "$dir/typescript/"
        npm ci --prefix "$dir/typescript" --prefer-offline --ignore-scripts --no-audit --no-fund --loglevel=error >&2
        cp "$here/typescript/package-lock.json" "$dir/lock"
    fi
    # Not what is there already: a program that starts at this moment could read half a file.
    cp -u "$here/wiretap.py" "$here/httptap.py" "$here/expected.json" "$dir/"
    cp -u "$here"/typescript/*.mjs "$here"/typescript/package*.json "$dir/typescript/"
    cp -u "$here"/servers/*.mjs "$here/servers/"{offer,tasks}.json "$dir/typescript/servers/"
    echo "$dir/typescript"
}

rmcp_for() { # PROGRAM: built from rmcp/, its own workspace
    CARGO_TARGET_DIR=$build/rmcp cargo build --quiet --locked --manifest-path "$here/rmcp/Cargo.toml" --bin "$1" >&2
    echo "$build/rmcp/debug/$1"
}

client_for() { # CLIENT: sets `program` to its command
    case $1 in
    python-*) program=("$(python_for "${1#python-}")" "$here/python/client_${1#python-}.py") ;;
    typescript-*) program=(node "${modules:=$(node_for)}/client_${1#typescript-}.mjs") ;;
    rmcp) program=(env INTEROP_TAP="$here/wiretap.py" "$(rmcp_for rmcp-client)") ;;
    *) echo "unknown client: $1" >&2 && exit 2 ;;
    esac
}
