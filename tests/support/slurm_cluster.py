"""A Slurm of one machine on loopback: munged, slurmctld and slurmd of its own, in one folder."""

import ctypes
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import time

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scancel", "scontrol", "sinfo", "squeue")
SEARCHED = os.pathsep.join((os.environ["PATH"], "/usr/local/sbin", "/usr/sbin", "/sbin"))


def missing():
    """Programs that are not installed."""
    return [name for name in PROGRAMS if not shutil.which(name, path=SEARCHED)]


def wait_until(condition, what, seconds=60):
    """The condition's value, as soon as it is true."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > end:
            raise TimeoutError(what() if callable(what) else what)
        time.sleep(0.01)
    return value


def free_ports(count):
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports


LIBC = ctypes.CDLL(None)
SET_PARENT_DEATH_SIGNAL, SET_CHILD_SUBREAPER = 1, 36  # prctl(2)


def end_with_parent():
    LIBC.prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)


class SlurmCluster:
    """Its commands find it by `environment`; stop() ends all that belongs to it."""

    def __init__(self, folder, cpus):
        LIBC.prctl(SET_CHILD_SUBREAPER, 1)
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(mode=0o711)  # users of munge's socket must get there
        self.configuration = self.folder / "slurm.conf"
        self.environment = os.environ | {
            "SLURM_CONF": os.fspath(self.configuration),
            "PATH": SEARCHED,
        }
        for name in [name for name in self.environment if name.startswith(("SBATCH_", "SLURM_JOB"))]:
            del self.environment[name]
        self.write_configuration(cpus)
        try:
            self.start()
        except BaseException:
            self.stop()
            raise

    def write_configuration(self, cpus):
        folder, host = self.folder, socket.gethostname().split(".")[0]
        controller, node = free_ports(2)
        user = pwd.getpwuid(os.getuid()).pw_name
        for name in ("state", "spool"):
            (folder / name).mkdir()
        key = folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(1024))
        self.configuration.write_text(f"""ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=1,bf_interval=1
SlurmdParameters=config_overrides
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
""")

    def start(self):
        socket_file = self.folder / "munge.socket"
        self.daemon(
            "munged",
            "--foreground",
            f"--socket={socket_file}",
            *(
                f"--{name}-file={self.folder}/munge{end}"
                for name, end in (
                    ("key", ".key"),
                    ("pid", "d.pid"),
                    ("log", "d.log"),
                    ("seed", "d.seed"),
                )
            ),
        )
        wait_until(socket_file.exists, self.logs, 10)
        self.daemon("slurmctld", "-D")
        self.daemon("slurmd", "-D")
        wait_until(lambda: self.call("sinfo", "-h", "-o", "%T", check=False) == "idle\n", self.logs, 20)

    def daemon(self, name, *words):
        with open(self.folder / f"{name}.told", "w", encoding="utf-8") as told:
            subprocess.Popen(
                [shutil.which(name, path=SEARCHED), *words],
                env=self.environment,
                stdout=told,
                stderr=told,
                stdin=subprocess.DEVNULL,
                preexec_fn=end_with_parent,
            )

    def call(self, *words, check=True):
        """What a command of Slurm prints."""
        done = subprocess.run(words, env=self.environment, capture_output=True, text=True, check=False, timeout=60)
        if check and done.returncode != 0:
            raise RuntimeError(f"{' '.join(words)}: {done.stderr}")
        return done.stdout

    def queue(self):
        """{job: state, and why} of what is queued or runs; a task of an array is ARRAY_TASK."""
        return dict(line.split(" ", 1) for line in self.call("squeue", "-h", "-r", "-o", "%i %T %r").splitlines())

    def logs(self):
        return "\n".join(f"{path.name}:\n{path.read_text()[-1500:]}" for path in sorted(self.folder.glob("*.told")))

    def processes(self):
        """Of this cluster: its daemons and all that they started."""
        mark = f"SLURM_CONF={self.configuration}\0".encode()
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                if mark in path.read_bytes():
                    found.append(int(path.parent.name))
            except OSError:
                pass
        return found

    def process(self, *words):
        """Whose command line has the words one after the other, or None."""
        wanted = b"".join(b"\0" + word for word in words) + b"\0"
        for process in self.processes():
            try:
                if wanted in pathlib.Path(f"/proc/{process}/cmdline").read_bytes():
                    return process
            except OSError:
                pass
        return None

    def stop(self):
        def none_is_left():
            for process in self.processes():
                try:
                    os.kill(process, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            return not self.processes()

        wait_until(none_is_left, "processes of the cluster do not end")
        while True:
            try:
                os.waitpid(-1, 0)
            except ChildProcessError:
                return
