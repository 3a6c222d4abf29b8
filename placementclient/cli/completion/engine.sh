# Prints the words that may come next, a line each; ':files' stands for files, ':plans' for those
# that are no journals.
# $1: the program; $2: the word that is completed; then what stands before it.
_placement_candidates() {
    local program="$1" current="$2" word='' typed='' pending='' count=0 prefix='' kind='' reply=''
    shift 2
    for word in "$@"; do
        if [ -n "$pending" ]; then
            pending=''
            continue
        fi
        case "$word" in
            --*=*) ;;
            help) [ -z "$typed" ] || count=$((count + 1)) ;;
            -*)
                _placement_follows "$typed" "$word"
                pending="$reply"
                ;;
            *)
                _placement_next "$typed"
                case "$count $reply " in
                    "0 "*" $word "* | "0 $word "*) typed="${typed:+$typed }$word" ;;
                    *) count=$((count + 1)) ;;
                esac
                ;;
        esac
    done
    case "$pending$current" in
        --*=*)
            prefix="${current%%=*}="
            current="${current#*=}"
            _placement_follows "$typed" "${prefix%=}"
            pending="$reply"
            ;;
    esac
    if [ -n "$pending" ]; then
        kind="$pending"
    elif [ "${current#-}" != "$current" ]; then
        _placement_options ''
        kind="words $reply"
        [ -z "$typed" ] || _placement_options "$typed"
        [ -z "$typed" ] || kind="$kind $reply"
    else
        reply=''
        [ "$count" != 0 ] || _placement_next "$typed"
        kind="words $reply"
        if [ -z "$reply" ]; then
            _placement_argument "$typed $((count + 1))"
            kind="$reply"
        fi
    fi
    case "$kind" in
        'words '*)
            for word in ${kind#words }; do
                case "$word" in
                    "$current"*) printf '%s\n' "$prefix$word" ;;
                esac
            done
            ;;
        files | plans) printf ':%s\n' "$kind" ;;
        amounts)
            _placement_values classes "$@" | while IFS= read -r word; do
                printf '%s\n' "$prefix$word="
            done
            ;;
        providers | classes | traits | consumers)
            _placement_values "$kind" "$@" | while IFS= read -r word; do
                printf '%s\n' "$prefix$word"
            done
            ;;
    esac
}

# Options that are not known are those of a way to authenticate, which take a value.
_placement_follows() {
    _placement_option "$1 $2"
    [ -n "$reply" ] || _placement_option " $2"
    case "$reply$2" in
        --os-*) reply=anything ;;
    esac
}

# The command line goes through a pipe: no list of processes shows a password in it.
_placement_values() {
    local kind="$1"
    shift
    printf '%s\n' "$@" | command "$program" complete --values "$kind" "$current" 2>/dev/null
}
