"""A Slurm of one node in a folder of its own: own munge, ports and configuration, no systemd, no cgroups."""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol", "squeue", "scancel", "sinfo")
PLACES = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
SOON = 20.0
"""Wall seconds within which the node has to be idle."""

CONFIGURATION = """\
ClusterName=hpcchain-test
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
SlurmctldPort={controller}
SlurmdPort={daemon}
StateSaveLocation={folder}/controller
SlurmdSpoolDir={folder}/daemon
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmdParameters=config_overrides
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SwitchType=switch/none
MpiDefault=pmix
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=0,sched_min_interval=0
ReturnToService=2
KillWait=5
MessageTimeout=60
InactiveLimit=0
MinJobAge=3600
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} Boards=1 SocketsPerBoard=1 CoresPerSocket={cpus} ThreadsPerCore=1 \
RealMemory=1000 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE DefaultTime=10 State=UP
"""


class CannotStart(Exception):
    """Slurm cannot be started here; the text says why."""


class Slurm:
    """A running Slurm.

    Parameters
    ----------
    folder : path
        Short: sockets lie in it.
    cpus : int
        How many the node is said to have.

    Attributes
    ----------
    environment : dict
        What a command needs to talk to this Slurm.
    """

    def __init__(self, folder, cpus=8):
        missing = [name for name in PROGRAMS if shutil.which(name, path=PLACES) is None]
        if missing:
            raise CannotStart(f"not installed: {', '.join(missing)} (Debian: slurm-wlm and munge)")
        self.folder = Path(folder)
        self.environment = {"SLURM_CONF": str(self.folder / "slurm.conf"), "PATH": PLACES}
        try:
            self._start(cpus)
        except CannotStart:
            self.stop()
            raise

    def _start(self, cpus):
        self.folder.chmod(0o755)
        for name in ("controller", "daemon"):
            (self.folder / name).mkdir()
        (self.folder / "munge.key").write_bytes(os.urandom(1024))
        (self.folder / "munge.key").chmod(0o400)
        host, (controller, daemon) = socket.gethostname().split(".")[0], free_ports(2)
        (self.folder / "slurm.conf").write_text(
            CONFIGURATION.format(
                host=host,
                user=pwd.getpwuid(os.geteuid()).pw_name,
                folder=self.folder,
                controller=controller,
                daemon=daemon,
                cpus=cpus,
            )
        )
        # else in /tmp under names that another Slurm's steps have, too, and none starts where one of these is left
        (self.folder / "mpi.conf").write_text(f"PMIxCliTmpDirBase={self.folder}\n")
        files = {name: self.folder / f"munge.{name}" for name in ("socket", "seed")}
        self._daemon(
            "munged",
            f"--key-file={self.folder / 'munge.key'}",
            f"--socket={files['socket']}",
            f"--pid-file={self.folder / 'munged.pid'}",
            f"--log-file={self.folder / 'munged.log'}",
            f"--seed-file={files['seed']}",
        )
        self._daemon("slurmctld")
        self._daemon("slurmd", "-N", host)
        limit = time.monotonic() + SOON
        while self.ask("sinfo", "-h", "-o", "%t").strip() != "idle":
            if time.monotonic() > limit:
                raise CannotStart(f"the node does not become idle\n{self.logs()}")
            time.sleep(0.1)

    def _daemon(self, name, *words):
        """Start a program that puts itself into the background."""
        with (self.folder / f"{name}.out").open("w") as out:
            done = subprocess.run(
                [name, *words],
                env=os.environ | self.environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                timeout=SOON,
                check=False,
            )
        if done.returncode:
            raise CannotStart(f"{name} ended with {done.returncode}\n{self.logs()}")

    def ask(self, *words, **environment):
        """Run one of Slurm's commands and return what it says, its complaints only when it fails."""
        done = subprocess.run(
            list(map(str, words)),
            env=os.environ | environment | self.environment,
            text=True,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        return done.stdout if done.returncode == 0 else done.stdout + done.stderr

    def logs(self):
        """Return the last lines of the daemons' logs."""
        files = [*self.folder.glob("*.log"), *self.folder.glob("*.out")]
        return "\n".join(f"{path.name}: {path.read_text(errors='replace')[-500:]}" for path in sorted(files))

    def cancel_all(self):
        """Cancel all jobs and wait until none is left, for a while."""
        self.ask("scancel", "--full", f"--user={os.geteuid()}")
        limit = time.monotonic() + SOON
        while self.ask("squeue", "--noheader").strip() and time.monotonic() < limit:
            time.sleep(0.1)

    def children(self):
        """Return the process numbers of what belongs to this Slurm, by the configuration that it was started with."""
        mark, found = f"SLURM_CONF={self.environment['SLURM_CONF']}".encode(), []
        for path in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if mark in path.read_bytes().split(b"\0") and int(path.parent.name) != os.getpid():
                    found.append(int(path.parent.name))
        return found

    def stop(self):
        """End what was started: the daemons, then what they have left behind."""
        for name in ("slurmd", "slurmctld", "munged"):
            path = self.folder / f"{name}.pid"
            if path.exists() and path.read_text().strip().isdigit():
                end(int(path.read_text()), signal.SIGTERM)
        for number in self.children():
            end(number, signal.SIGKILL)


def end(number, how):
    """Send a signal to a process that may be gone."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(number, how)


def free_ports(count):
    """Return port numbers that no process listens on."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
