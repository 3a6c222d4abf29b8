_placement() {
    local -a candidates amounts
    candidates=("${(@f)$(_placement_as_sh "${words[1]}" "${words[CURRENT]}" "${(@)words[2,CURRENT-1]}")}")
    candidates=(${candidates:#})
    if [[ "${candidates[1]}" == ':files' ]]; then
        _files
        return
    fi
    if [[ "${candidates[1]}" == ':plans' ]]; then
        _files -F '*.journal'
        return
    fi
    amounts=(${(M)candidates:#*=})
    (( $#amounts )) && compadd -S '' -a amounts
    candidates=(${candidates:#*=})
    (( $#candidates )) && compadd -a candidates
}

_placement_as_sh() {
    emulate -L sh
    _placement_candidates "$@"
}

if [[ "${funcstack[1]}" == _placement ]]; then
    _placement "$@"
else
    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -u }
    compdef _placement placement
fi
