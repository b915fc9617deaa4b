"""FleetCast's back end: FastAPI under uvicorn, with three kinds of jobs of APScheduler in every replica.

Host, user and database are constants of the code: the variables that name them change nothing. Each query opens a
connection of its own. A job that cannot connect ends in an exception that APScheduler logs; the pod stays ready, for
its health check asks no database.

Left out: TLS to the database (its certificate authority lies in a ConfigMap), the growth of the tables. What jobs
read and write costs CPU time here and in the SQL server, not in the stores behind it.
"""

from __future__ import annotations

from simcluster.engine import MILLISECOND, SECOND, Timer
from simcluster.engine.streams import mix, uniform_at
from simcluster.models.apps.marks import STAMPS
from simcluster.models.apps.reaching import Reached, reach
from simcluster.models.apps.server import ServerProgram

#: Where the code says that its database is.
HOST, PORT = "basic-tidb.tidb-cluster.svc.cluster.local", 4000
#: Seconds between two runs of a job; there is one of the last kind for each of three ground stations.
SIMULATION_S, DASHBOARD_S, STATION_S, STATIONS = 10, 15, 20, 3
#: So many of the pairs of 100 satellites and 7 stations are near enough (5,000 km) for a contact; a magnitude.
CONTACTS = 40
#: CPU time of a round over all pairs of satellite and station, and of a query with its connection; magnitudes.
ROUND_CPU_NS, QUERY_CPU_NS = 25 * MILLISECOND, 2 * MILLISECOND
#: CPU time of a query in the SQL server, with the handshake of its connection; a magnitude.
SERVED_CPU_NS = MILLISECOND
#: Queries of a run of the dashboard's job, and of a station's.
DASHBOARD_QUERIES, STATION_QUERIES = 4, 1


class SatelliteProgram(ServerProgram):
    """The main process of a back end's container."""

    _jobs: tuple[Timer, ...] = ()

    def start(self) -> None:
        """The database is where the code says."""
        self.environment = {**self.environment, "DATABASE": f"{HOST}:{PORT}"}
        super().start()

    def stop(self) -> None:
        """The process is gone, and its jobs with it."""
        super().stop()
        for job in self._jobs:
            job.cancel()

    def _ready(self) -> None:
        super()._ready()
        if self.server is None or not self.container.running or self._jobs:
            return
        every = self.container.sim.every
        self._jobs = (
            every(SIMULATION_S * SECOND, self._simulate),
            every(DASHBOARD_S * SECOND, self._dashboard),
            *(every(STATION_S * SECOND, self._station, number) for number in range(1, STATIONS + 1)),
        )

    def _simulate(self) -> None:
        """Move the satellites, and write who was in sight of whom."""
        now = self.container.sim.now
        self.container.write("Running scheduled simulation")
        contacts = int(CONTACTS * (0.75 + 0.5 * uniform_at(mix(self._key, now), 1)))
        self.container.use_cpu(ROUND_CPU_NS)
        if not self._queried(2 * contacts, "scheduled_simulation", SIMULATION_S):
            return
        satellite, station = 1 + int(100 * uniform_at(mix(self._key, now), 2)), 1 + int(7 * uniform_at(self._key, now))
        self.container.write(
            f"Logging contact: {{'satellite_id': 'SAT-{satellite}', 'ground_station_id': 'GS-{station}'}}"
        )

    def _dashboard(self) -> None:
        """What the dashboard shows, into the log."""
        if self._queried(DASHBOARD_QUERIES, "run_dashboard_job", DASHBOARD_S):
            self._ran("/api/dashboard", "{'totalContacts': 0, 'lowBattery': 0, 'errors': 0}")

    def _station(self, number: int) -> None:
        """A station's last contacts, into the log."""
        if self._queried(STATION_QUERIES, f"run_station_job_GS-{number}", STATION_S):
            self._ran(f"/api/station/GS-{number}", f"{{'station_id': 'GS-{number}'}}")

    def _queried(self, queries: int, job: str, every_s: int) -> bool:
        """Ask the database; whether that worked. The first connection that fails ends the run."""
        if self.draining or not self.container.running:
            return False
        found = reach(self.traffic.network, self.container, HOST, PORT)
        if found.outcome != "ok" or found.container is None:
            self._raised(job, every_s, pymysql_error(found))
            return False
        self.container.use_cpu(queries * QUERY_CPU_NS)
        found.container.use_cpu(queries * SERVED_CPU_NS)
        return True

    def _ran(self, path: str, result: str) -> None:
        stamp = STAMPS["time_spdlog"](self.container.sim.now)
        self.container.write(f"[JOB] {path} ran at {stamp} -> {result}")

    def _raised(self, job: str, every_s: int, error: str) -> None:
        minutes, seconds = divmod(every_s, 60)
        trigger = f"interval[0:{minutes:02d}:{seconds:02d}]"
        text = f'Job "{job} (trigger: {trigger}, next run at: {self._next(every_s)})" raised an exception'
        for line in (text, "Traceback (most recent call last):", error):
            self.container.write(line, "stderr")

    def _next(self, every_s: int) -> str:
        return f"{STAMPS['time_s'](self.container.sim.now + every_s * SECOND)[:19].replace('T', ' ')} UTC"


def pymysql_error(found: Reached) -> str:
    """PyMySQL's exception for a server that cannot be reached.

    >>> pymysql_error(Reached("refused", "10.96.0.9"))[:60]
    'pymysql.err.OperationalError: (2003, "Can\\'t connect to MySQL'
    """
    why = {
        "unknown host": "[Errno -2] Name or service not known",
        "timeout": "timed out",
    }.get(found.outcome, "[Errno 111] Connection refused")
    return f"pymysql.err.OperationalError: (2003, \"Can't connect to MySQL server on '{HOST}' ({why})\")"
