# Functions of .ci/run and .ci/nightly: to find Python, to read README, to run steps one by one or side by side.
# shellcheck shell=bash

export PIP_DISABLE_PIP_VERSION_CHECK=1

find_python() {
    local candidate
    for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11 python}; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    echo "no Python 3.11 or later found; set PYTHON to one" >&2
    return 1
}

# The first fenced block after the marker <!-- $1 --> in the README, so that what is promised is what is run.
readme_command() {
    awk -v marker="<!-- $1 -->" '
        $0 == marker { found = 1; next }
        found && /^```/ { if (inside) exit; inside = 1; next }
        found && inside { print }
    ' README.md
}

failed=()

# step NAME COMMAND…: run it, print how long it took, note whether it failed.
step() {
    local name=$1 start=$SECONDS status=ok
    shift
    printf '\n==== %s\n     %s\n' "$name" "$*"
    "$@" || status=FAILED
    printf '==== %s: %s (%d s)\n' "$name" "$status" "$((SECONDS - start))"
    [[ $status == ok ]] || failed+=("$name")
}

# side_by_side FUNCTION…: run functions of steps at the same time, and print the output of each as a whole.
side_by_side() {
    local folder name
    folder=$(mktemp -d)
    for name in "$@"; do
        (
            failed=()
            "$name" >"$folder/$name" 2>&1
            printf '%s\n' "${failed[@]}" >"$folder/$name.failed"
        ) &
    done
    wait
    for name in "$@"; do
        cat "$folder/$name"
        if [[ -e $folder/$name.failed ]]; then
            while IFS= read -r line; do [[ -z $line ]] || failed+=("$line"); done <"$folder/$name.failed"
        else
            failed+=("$name")  # it ended before its last step
        fi
    done
    rm -r "$folder"
}

finish() {
    if ((${#failed[@]})); then
        printf '\nFAILED: %s\n' "$(IFS=,; echo "${failed[*]}")"
        exit 1
    fi
    printf '\nAll steps passed in %d s.\n' "$SECONDS"
}
