#!/usr/bin/env bash
# What one process of each node does before the ranks start: see warm_nodes in common.sh.
#   warm_node.sh USER_CACHE NODE_CACHE COMMAND...
set -euo pipefail
source_cache=$1 node_cache=$2
shift 2
mkdir -p "$node_cache"
exec 9>"$node_cache/.lock"
flock 9 # jobs that share the node take turns
name=hpcchain-$("$1" -c 'from hpcchain.compilecache import digest; print(digest())')
if [ -d "$source_cache/$name" ] && [ ! -d "$node_cache/$name" ]; then
    cp -R "$source_cache/$name" "$node_cache/.$name.new"
    mv "$node_cache/.$name.new" "$node_cache/$name"
fi
if [ -e "$node_cache/$name/.warm" ]; then exit 0; fi
unset "${!SLURM_STEP@}" "${!PMI@}" # one process for itself on each node, not a run of several
echo "$(hostname): $(NUMBA_CACHE_DIR=$node_cache "$@" warmup)"
touch "$node_cache/$name/.warm"
