# Sourced first by the scripts next to it: -h or --help prints the comment at the head of the script, and ends it.

case ${1:-} in
    -h | --help)
        awk 'NR > 1 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "${BASH_SOURCE[1]}"
        exit
        ;;
esac
