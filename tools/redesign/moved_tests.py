"""Where test helpers and unit tests go: read by moves.py. Tests that are missing here are named when it runs."""

HELPERS = {
    "copied": "",
    "identity": "",
    "io_samples": "",
    "launching": "",
    "mixtures": "",
    "replicated": "",
    "run_folders": "",
    "shapes": "",
    "whole": "",
    "gases": "unit",
    "kernel_tools": "unit",
    "molecules": "unit",
    "solved": "unit",
    "stepping": "unit",
    "twins": "unit",
}
UNIT = """
apart jit/outlined
averages observe/averages
balance_decision parallel/decomposition/balance
batch sector/event_budget
chain propagators/taylor/chain
cli cli/cli
cli_files cli/cli_files
collapse sector/collapse
collocation propagators/collocation/collocation
collocation_engine propagators/collocation/collocation_engine
collocation_engine_variants propagators/collocation/collocation_engine_variants
collocation_nested propagators/collocation/collocation_nested
collocation_ties propagators/collocation/collocation_ties
collocation_variants propagators/collocation/collocation_variants
comm parallel/comm
composition model/composition
conditions observe/condition_numbers
config config/config
constraints model/starts/constraints
container tools/container
copies model/starts/replicate_system
copies_run run/replicated_run
cost_model tools/cost_model
directors model/directors
directors_files io/checkpoint/orientations
duration contact/tc_model
elementary model/numerics/portable_math
engine sector/serial
engines run/engines
fours sector/search/broad_phase_simd
graph propagators/taylor/graph
growth run/growth
handle jit/struct
idle sector/speculation/dormant_beads
impulse contact/impulse
interest parallel/ghosts/reach
io_checkpoint io/checkpoint/checkpoint
io_output io/output/output
io_tools io/tools/tools
iteration_counts propagators/steps/iteration_counts
limit run/wall_limit
lists sector/search/neighbour_lists
looking_back sector/speculation/looking_back
memory layout/memory
names layout/id_table
overlap_on_ranks parallel/overlap
pair contact/pair
placement model/starts/placement
prefetch sector/search/prefetch
propagators_per_kind propagators/propagators_per_kind
queue sector/queue/tournament
random model/random
rattling_guess propagators/steps/rattling_guess
replicate run/replicate
rod propagators/rigid/rod
rod_model model/rods
rod_steps propagators/rigid/rod_steps
rod_steps_engine propagators/rigid/rod_steps_engine
rooms parallel/ghosts/skins
rotation model/rotation
rotor propagators/rigid/rotor
run_parts run/run_parts
scaling tools/scaling
schedule run/schedule
search sector/search/earliest_event
sectors parallel/decomposition/sectors
segment layout/segment_bits
solved_engine sector/search/solved_contact_time
steppers_engine propagators/steps/step_molecule
steps propagators/steps/rattle_and_variational
structure propagators/taylor/bond_graph
swept sector/search/broad_phase
tools_environment tools/environment
topology model/topology
velocities model/starts/velocities
wall contact/wall
watchdog run/watchdog
web propagators/taylor/graph_molecule
"""
MAP = dict(l.split() for l in UNIT.strip().splitlines())
import pathlib

extra = pathlib.Path(__file__).with_name("more_tests.txt")
if extra.exists():
    MAP |= dict(l.split() for l in extra.read_text().strip().splitlines())


def new_of(name):
    folder, _, leaf = MAP[name].rpartition("/")
    return f"tests/unit/{folder}/test_{leaf}.py"


def files(root):
    out = {}
    for h, f in HELPERS.items():
        old = f"tests/{f + '/' if f else ''}{h}.py"
        out[old] = f"tests/support/{h}.py"
    for p in sorted((root / "tests/unit").glob("test_*.py")):
        name = p.stem[5:]
        if name in MAP:
            out[f"tests/unit/{p.name}"] = new_of(name)
        else:
            print("unmapped test", p.name)
    return out


modules = {}
for h, f in HELPERS.items():
    for old in [h, "tests." + h] if not f else ["unit." + h, "tests.unit." + h]:
        modules[old] = "tests.support." + h
for n in MAP:
    new = new_of(n)[:-3].replace("/", ".")
    modules["tests.unit.test_" + n] = new
    modules["unit.test_" + n] = new
for n in "cases compare contacts engine linear motion program roots special systems tables theory".split():
    modules["reference." + n] = "tests.reference." + n
