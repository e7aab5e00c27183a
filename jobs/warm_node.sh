#!/usr/bin/env bash
# What one process of each node does before the ranks start: see warm_nodes in common.sh.
#   warm_node.sh USER_CACHE NODE_CACHE COMMAND...
# Scratch is shared, and the cache's name there can be foreseen, so it may be there already, made by anyone. Whether it
# is safe, hpcchain.jit.cache says; nothing is opened or written there before.
set -euo pipefail
umask 077
source_cache=$1 node_cache=$2
shift 2
python=$1

# safe CACHE: the folder of these sources in a cache, made with mode 700 if missing; 78 and a message if it is not safe
safe() { NUMBA_CACHE_DIR=$1 "$python" -P -m hpcchain.jit.cache; }

folder=$(safe "$node_cache")
exec 9>>"$folder/.lock" # in a folder that no other user can write to, and that has no links
flock 9                 # jobs that share the node take turns
if [ -d "$source_cache/${folder##*/}" ] && kept=$(safe "$source_cache"); then
    for part in "$kept"/*; do
        copy=$folder/$(basename "$part")
        if [ ! -e "$part" ] || [ -e "$copy" ]; then continue; fi
        rm -rf "$folder/.copy"
        cp -R "$part" "$folder/.copy"
        mv -T "$folder/.copy" "$copy"
    done
fi
unset "${!SLURM_STEP@}" "${!PMI@}" # one process for itself on each node, not a run of several
echo "$(hostname): $(NUMBA_CACHE_DIR=$node_cache "$@" warmup)"
