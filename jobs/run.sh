#!/usr/bin/env bash
# One run that requeues itself until it is done. From the project's folder:
#
#   sbatch jobs/run.sh INPUT.toml OUTPUT [further words for 'hpcchain run']
#
# Some minutes before the time limit Slurm sends USR1 to this script; the ranks write a checkpoint and exit with 75, and
# the job goes back into the queue and later on from that checkpoint. Submitting it once more goes on, too.
#SBATCH --job-name=hpcchain
##SBATCH --account=YOUR_ACCOUNT
##SBATCH --partition=YOUR_PARTITION
#SBATCH --nodes=1
# 'hpcchain check INPUT.toml' says how many ranks to ask for: write the number here, or sbatch --ntasks=N jobs/run.sh ...
# A rank may use two cores: sbatch --ntasks=1 --cpus-per-task=2 jobs/run.sh INPUT.toml OUTPUT
#SBATCH --ntasks=32
#SBATCH --time=04:00:00
#SBATCH --signal=B:USR1@300
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.log
set -uo pipefail
common=${HPCCHAIN_HOME:-${SLURM_SUBMIT_DIR:-$PWD}}/jobs/common.sh
if [ ! -f "$common" ]; then
    echo "no file $common: submit from the project's folder, or set HPCCHAIN_HOME to it" >&2
    exit 78
fi
source "$common"
require_words 2 "jobs/run.sh INPUT.toml OUTPUT [further words for 'hpcchain run']" "$@"
input=$1 folder=$2
shift 2

launcher "$SLURM_NTASKS"
warm_nodes || exit
until_done "$folder" "${ranks[@]}" "${hpcchain[@]}" run "$input" --output "$folder" --resume auto "$@"
