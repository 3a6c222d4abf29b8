_placement() {
    local line="${COMP_LINE:0:COMP_POINT}" current='' broken candidate
    local -a before
    read -ra before <<<"$line"
    case "$line" in
        *[[:space:]]) ;;
        *)
            current="${before[-1]}"
            unset 'before[-1]'
            ;;
    esac
    # Bash replaces only what stands behind the last = or :
    broken="${current%"${current##*[=:]}"}"
    COMPREPLY=()
    while IFS= read -r candidate; do
        case "$candidate" in
            :files | :plans)
                compopt -o filenames 2>/dev/null
                [ "$candidate" = :files ] || candidate='*.journal'
                mapfile -t COMPREPLY < <(compgen -f -X "$candidate" -- "${current#"$broken"}")
                return
                ;;
            *=) compopt -o nospace 2>/dev/null ;;
        esac
        printf -v candidate '%q' "${candidate#"$broken"}"
        COMPREPLY+=("${candidate//\\=/=}")
    done < <(_placement_candidates "${before[0]}" "$current" "${before[@]:1}")
}

complete -F _placement placement
