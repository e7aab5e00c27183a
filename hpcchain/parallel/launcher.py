"""What the launcher (mpirun, srun) says about this process, read before and without MPI."""

import os
from collections.abc import Mapping

# (size, rank) as Open MPI's mpirun, then MPICH's and Intel's hydra or Slurm's pmi2, then srun name them. A batch script
# alone has SLURM_NTASKS too, though only one process: the step's own variable is what srun sets. It comes last
# because mpirun starts its own daemons with srun.
VARIABLES = (
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("PMI_SIZE", "PMI_RANK"),
    ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
)


def launched(environment: Mapping[str, str] | None = None) -> tuple[int, int]:
    """Return (size, rank) that the launcher announces, (1, 0) without a launcher.

    Parameters
    ----------
    environment : mapping, optional
        Stands in for the process's environment variables.
    """
    environment = os.environ if environment is None else environment
    for size_name, rank_name in VARIABLES:
        size = environment.get(size_name, "")
        if size.isdigit() and int(size) > 0:
            rank = environment.get(rank_name, "")
            return int(size), int(rank) if rank.isdigit() else 0
    return 1, 0


def not_joined_by_mpi(environment: Mapping[str, str] | None = None) -> bool:
    """Return whether srun started several processes without any of the interfaces through which an MPI joins them.

    MPI's own complaint about that is long and comes from every process.

    Parameters
    ----------
    environment : mapping, optional
        Stands in for the process's environment variables.
    """
    environment = os.environ if environment is None else environment
    several = environment.get(VARIABLES[-1][0], "1") not in ("", "0", "1")
    return several and not any(name.startswith(("PMI", "OMPI_COMM_WORLD")) for name in environment)
