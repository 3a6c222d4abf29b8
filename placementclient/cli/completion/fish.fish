# Prints the words that may come next, a line each.
function __placement_candidates
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set -l program $before[1]
    set -e before[1]
    set -l typed ''
    set -l pending ''
    set -l count 0
    set -l prefix ''
    for word in $before
        if test -n "$pending"
            set pending ''
            continue
        end
        switch $word
            case '--*=*'
            case help
                test -n "$typed"; and set count (math $count + 1)
            case '-*'
                set pending (__placement_follows "$typed" $word)
            case '*'
                if test $count -eq 0; and contains -- $word (__placement_next "$typed")
                    set typed (string trim -- "$typed $word")
                else
                    set count (math $count + 1)
                end
        end
    end
    if test -z "$pending"; and string match -q -- '--*=*' "$current"
        set prefix (string replace -r -- '=.*' '=' $current)
        set current (string replace -r -- '^[^=]*=' '' $current)
        set pending (__placement_follows "$typed" (string trim -r -c = -- $prefix))
    end
    set -l kind $pending
    if test -z "$pending"
        if string match -q -- '-*' "$current"
            set kind words (__placement_options '')
            test -n "$typed"; and set -a kind (__placement_options "$typed")
        else
            set kind words
            test $count -eq 0; and set -a kind (__placement_next "$typed")
            if test (count $kind) -eq 1
                set kind (__placement_argument "$typed "(math $count + 1))
            end
        end
    end
    set kind (string split ' ' -- $kind)
    switch "$kind[1]"
        case words
            for word in $kind[2..]
                echo -- $prefix$word
            end
        case files
            __fish_complete_path "$current"
        case plans
            __fish_complete_path "$current" | string match -v -r '\.journal(\t|$)'
        case amounts
            for word in (__placement_values $program classes "$current" $before)
                echo -- $prefix$word=
            end
        case providers classes traits consumers
            for word in (__placement_values $program $kind "$current" $before)
                echo -- $prefix$word
            end
    end
end

# Options that are not known are those of a way to authenticate, which take a value.
function __placement_follows
    set -l kind (__placement_option "$argv")
    test -n "$kind"; or set kind (__placement_option " $argv[2]")
    test -z "$kind"; and string match -q -- '--os-*' $argv[2]; and set kind anything
    echo -- $kind
end

# The command line goes through a pipe: no list of processes shows a password in it.
function __placement_values
    printf '%s\n' $argv[4..] | command $argv[1] complete --values $argv[2] "$argv[3]" 2>/dev/null
end

complete -c placement -f -a '(__placement_candidates)'
