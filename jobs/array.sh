#!/usr/bin/env bash
# One run for each value of a parameter, as an array of jobs that requeue themselves until they are done. From the
# project's folder, with as many numbers after --array as there are values:
#
#   sbatch --array=0-2 jobs/array.sh INPUT.toml OUTPUT KEY VALUE VALUE VALUE
#   sbatch --array=0-2 jobs/array.sh jobs/demo.toml sweep initial.seed 1 2 3      # results in sweep/initial.seed=1, ...
#SBATCH --job-name=hpcchain-array
##SBATCH --account=YOUR_ACCOUNT
##SBATCH --partition=YOUR_PARTITION
#SBATCH --nodes=1
#SBATCH --ntasks=8
#SBATCH --time=04:00:00
#SBATCH --signal=B:USR1@300
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%A-%a.log
set -uo pipefail
common=${HPCCHAIN_HOME:-${SLURM_SUBMIT_DIR:-$PWD}}/jobs/common.sh
if [ ! -f "$common" ]; then
    echo "no file $common: submit from the project's folder, or set HPCCHAIN_HOME to it" >&2
    exit 78
fi
source "$common"
require_words 4 "--array=0-2 jobs/array.sh INPUT.toml OUTPUT KEY VALUE VALUE VALUE" "$@"
input=$1 output=$2 key=$3
shift 3
values=("$@")
if [ "${SLURM_ARRAY_TASK_ID:-0}" -ge $# ]; then
    echo "array task ${SLURM_ARRAY_TASK_ID:-0} has no value: there are $#, counted from 0" >&2
    exit 2
fi
value=${values[${SLURM_ARRAY_TASK_ID:-0}]}
folder=$output/$key=$value

launcher "$SLURM_NTASKS"
warm_nodes || exit
until_done "$folder" "${ranks[@]}" "${hpcchain[@]}" run "$input" --output "$folder" --set "$key=$value" --resume auto
