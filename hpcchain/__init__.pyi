from hpcchain.analysis.results import read as read
from hpcchain.analysis.results import read_many as read_many
from hpcchain.run.simulation import Simulation as Simulation
from hpcchain.run.starts.user_system import System as System

__version__: str
__all__: list[str]
