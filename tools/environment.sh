# Sourced by the scripts next to it, from the project's folder: which environment they use and how MPI is to behave.
#
#   HPCCHAIN_VENV      folder of the virtual environment (default .venv)
#   HPCCHAIN_MODULES   environment modules to load first, for example "gcc openmpi hdf5"
#   MPIRUN             launcher (default mpirun.openmpi, else mpirun)

venv=${HPCCHAIN_VENV:-$PWD/.venv}
case $venv in /*) ;; *) venv=$PWD/$venv ;; esac

if [ -n "${HPCCHAIN_MODULES:-}" ]; then
    if ! type module >/dev/null 2>&1; then
        echo "HPCCHAIN_MODULES is set, but this shell has no 'module' command: source the site's modules set-up first" >&2
        exit 1
    fi
    # shellcheck disable=SC2086  # a list of words
    module load $HPCCHAIN_MODULES
fi

choose_launcher() {
    command -v mpirun.openmpi || command -v mpirun || echo mpirun
}
MPIRUN=${MPIRUN:-$(choose_launcher)}

# More ranks than cores must yield while they wait (a thousand times faster), and a container's root may start ranks.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
