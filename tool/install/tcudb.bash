# bash completion for tcudb(1)
_tcudb()
{
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
    case $previous in
    -c|--command|-F|--field-separator|--null|-P|--pset|-v|--set|--threads|--memory)
        return
        ;;
    -f|--file|-o|--output)
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
        ;;
    esac
    if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(tcudb --help 2>/dev/null | grep -oE -- '--[a-z-]+=?')" -- "$current")
        [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
        return
    fi
    mapfile -t COMPREPLY < <(compgen -d -- "$current")
    compopt -o filenames
}
complete -F _tcudb tcudb
