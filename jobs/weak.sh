#!/usr/bin/env bash
# Weak scaling: the box grows with the ranks, on 1, 2, 4, ... up to all of the job's; INPUT.toml is one rank's share.
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
source "${HPCCHAIN_HOME:-$SLURM_SUBMIT_DIR}/jobs/common.sh"
input=$1 folder=$2
shift 2
numbers=()
for ((n = 1; n <= SLURM_NTASKS; n *= 2)); do numbers+=("$n"); done

warm_nodes || exit
launcher "{ranks}"
exec "$venv/bin/python" "$home/tools/scaling" weak "$input" --output "$folder" --ranks "${numbers[@]}" \
    --launcher "${ranks[*]}" "$@"
