#!/usr/bin/env bash
# Weak scaling, on 1, 2, 4, ... ranks up to all of the job's: INPUT.toml is one rank's share, of which so many are put
# side by side along the periodic axes of its box.
# From the project's folder; OUTPUT gets scaling.csv and scaling.png:
#
#   sbatch jobs/weak.sh INPUT.toml OUTPUT [further words for tools/scaling, for example --repeat 5]
#SBATCH --job-name=hpcchain-weak
##SBATCH --account=YOUR_ACCOUNT
##SBATCH --partition=YOUR_PARTITION
#SBATCH --nodes=1
#SBATCH --ntasks=32
#SBATCH --exclusive
#SBATCH --time=01:00:00
#SBATCH --output=%x-%j.log
set -uo pipefail
common=${HPCCHAIN_HOME:-${SLURM_SUBMIT_DIR:-$PWD}}/jobs/common.sh
if [ ! -f "$common" ]; then
    echo "no file $common: submit from the project's folder, or set HPCCHAIN_HOME to it" >&2
    exit 78
fi
source "$common"
require_words 2 "jobs/weak.sh INPUT.toml OUTPUT [further words for tools/scaling]" "$@"
scaling weak "$@"
