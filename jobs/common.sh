# Sourced by the job scripts next to it: the environment, the launcher, and what a job does about signals.
#
#   HPCCHAIN_HOME      the project's folder (default: the one that the job was submitted from)
#   HPCCHAIN_LAUNCHER  srun (default) or mpirun
#   HPCCHAIN_SRUN      further options of srun, for example --mpi=pmix_v4
#   HPCCHAIN_SCRATCH   folder on the node's own disk for the compile cache (default SLURM_TMPDIR, TMPDIR or /tmp)
#   HPCCHAIN_VENV, HPCCHAIN_MODULES   see tools/environment.sh

# What comes before the ranks are started, while nodes are warmed: untrapped it would end the job as a failure.
early=''
trap 'early=USR1' USR1

# give_up CODE MESSAGE: end the job with one message.
give_up() {
    echo "$2" >&2
    exit "$1"
}

# require_words LEAST USAGE WORDS...: end what is no job of Slurm, or was not given so many words, the first an input file.
require_words() {
    local least=$1 usage=$2
    shift 2
    if [ -z "${SLURM_JOB_ID:-}" ]; then give_up 2 "this is a job script for Slurm: sbatch $usage"; fi
    if [ $# -lt "$least" ]; then give_up 2 "usage: sbatch $usage"; fi
    if [ ! -f "$1" ]; then give_up 78 "$1: there is no such input file in $PWD"; fi
}

# require_program NAME MEND: end the job unless there is such a program.
require_program() {
    if ! command -v "$1" >/dev/null; then give_up 78 "no program $1: $2"; fi
}

home=${HPCCHAIN_HOME:-${SLURM_SUBMIT_DIR:-$PWD}}
if [ -n "${HPCCHAIN_MODULES:-}" ]; then
    require_program module "HPCCHAIN_MODULES is set; source the site's set-up of modules first, or unset it"
    # shellcheck disable=SC2086  # a list of words
    module load $HPCCHAIN_MODULES || give_up 78 "HPCCHAIN_MODULES: 'module load $HPCCHAIN_MODULES' failed; mend the names"
fi
venv=${HPCCHAIN_VENV:-$home/.venv}
if ! "$venv/bin/python" -P -c 'import hpcchain' 2>/dev/null; then
    give_up 78 "no hpcchain in $venv: submit from the project's folder after tools/setup, or set HPCCHAIN_HOME or HPCCHAIN_VENV"
fi
export PATH=$venv/bin:$PATH
hpcchain=("$venv/bin/python" -P -m hpcchain) # -P: no module is taken from the folder that the job runs in

# The ranks write their last checkpoint before the job's end; older Slurms do not say when that is.
if [ -z "${SLURM_JOB_END_TIME:-}" ]; then
    job_end=$(date -d "$(squeue --noheader --jobs="$SLURM_JOB_ID" --format=%e 2>/dev/null | head -n 1)" +%s 2>/dev/null || true)
    if [ -n "$job_end" ]; then export SLURM_JOB_END_TIME=$job_end; fi
fi

# launcher N: the words that start N ranks, in the array `ranks`.
launcher() {
    if [ "${HPCCHAIN_LAUNCHER:-srun}" = mpirun ]; then
        ranks=("${MPIRUN:-mpirun}" -n "$1")
        require_program "${ranks[0]}" "load the site's MPI (HPCCHAIN_MODULES), or set MPIRUN to its launcher"
        if [ -n "${SLURM_CPUS_PER_TASK:-}" ]; then ranks+=(--map-by "slot:PE=$SLURM_CPUS_PER_TASK"); fi
    else
        # shellcheck disable=SC2206  # a list of words
        ranks=(srun --ntasks="$1" ${SLURM_CPUS_PER_TASK:+--cpus-per-task="$SLURM_CPUS_PER_TASK"} ${HPCCHAIN_SRUN:-})
    fi
}

# scaling strong|weak INPUT OUTPUT [WORDS...]: what tools/scaling measures on 1, 2, 4, ... ranks up to all of the job's.
scaling() {
    local what=$1 input=$2 folder=$3 numbers=() n
    shift 3
    for ((n = 1; n <= SLURM_NTASKS; n *= 2)); do numbers+=("$n"); done
    launcher "{ranks}"
    warm_nodes || exit
    "$venv/bin/python" "$home/tools/scaling" "$what" "$input" --output "$folder" --ranks "${numbers[@]}" \
        --launcher "${ranks[*]}" "$@"
}

# warm_nodes: one process on every node fills a compile cache on that node's own disk. What the user's cache holds
# already ('hpcchain warmup' on a login node with the same processor, once) is copied instead of compiled. The cache is
# made with mode 700; one that is there already and not safe ends the job (78).
warm_nodes() {
    require_program srun "add the folder of Slurm's programs to PATH"
    local user_cache=${NUMBA_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/hpcchain}
    local scratch=${HPCCHAIN_SCRATCH:-${SLURM_TMPDIR:-${TMPDIR:-/tmp}}}
    export NUMBA_CACHE_DIR=$scratch/hpcchain-cache-$(id -un)
    srun --nodes="$SLURM_JOB_NUM_NODES" --ntasks="$SLURM_JOB_NUM_NODES" --ntasks-per-node=1 --mpi=none \
        bash "$home/jobs/warm_node.sh" "$user_cache" "$NUMBA_CACHE_DIR" "${hpcchain[@]}"
}

# attended COMMAND...: run a command and pass on to it the signals that the job gets; its exit code is in `code`: 75 if
# the job was signalled to stop before.
attended() {
    local child='' signalled=1 stop=TERM
    if [ "${HPCCHAIN_LAUNCHER:-srun}" = mpirun ]; then stop=USR1; fi # at TERM Open MPI's kills the ranks a second later
    # Before the command begins: untrapped, a signal that comes at once would end the job's script and leave the ranks.
    trap 'on_signal USR1' USR1
    trap 'on_signal USR2' USR2
    trap 'on_signal "$stop"' TERM
    code=75
    if [ -n "$early" ]; then return; fi
    "$@" &
    child=$!
    if [ -n "$early" ]; then on_signal "$early"; fi
    while [ -n "$signalled" ]; do # a signal ends the waiting, not the command
        signalled=
        code=0
        wait "$child" || code=$?
    done
    trap - USR1 USR2 TERM
}

# on_signal SIGNAL: what `attended` does about a signal, or, before its command has a number, keeps in mind.
on_signal() {
    signalled=1
    if [ -n "$child" ]; then kill "-$1" "$child" 2>/dev/null || true; else early=$1; fi
}

# until_done FOLDER COMMAND...: run a command that writes to a folder; when it was stopped early with a checkpoint (75),
# the job goes back into the queue. It does not when the checkpoint is the one that it began from: then the time limit
# is too short for the start alone, and it would be so for ever.
until_done() {
    local folder=$1 before
    shift
    before=$(newest "$folder")
    attended "$@"
    if [ "$code" = 75 ]; then
        if [ "$(newest "$folder")" = "$before" ]; then
            echo "stopped before any step forward: give the job a longer time limit; it is not requeued" >&2
            exit 75
        fi
        echo "code 75 is no failure: stopped early with a checkpoint; the job goes back into the queue and resumes" >&2
        scontrol requeue "$SLURM_JOB_ID" && sleep 60 # requeueing ends this script
    fi
    if [ "$code" = 0 ] && [ -z "$(newest "$folder")" ]; then # srun may end so when it could not start the ranks
        echo "the launcher says that all is well, but nothing has run" >&2
        exit 70
    fi
    exit "$code"
}

# newest FOLDER: what a run there, or each run of an ensemble there, would go on from: its newest checkpoint, else the
# start that is still growing.
newest() {
    local folder found
    for folder in "$1" "$1"/*/; do
        found=$(find "${folder%/}/checkpoints" -name 'ckpt-*.h5' 2>/dev/null | sort | tail -n 1)
        if [ -z "$found" ] && [ -f "${folder%/}/growth.h5" ]; then found="growth $(cksum <"${folder%/}/growth.h5")"; fi
        if [ -n "$found" ]; then echo "$found"; fi
    done
}
