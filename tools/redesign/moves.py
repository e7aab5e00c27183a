"""Move modules of a checkout and rewrite every reference to them: python moves.py CHECKOUT"""

import ast, io, os, pathlib, re, subprocess, sys, tokenize

root = pathlib.Path(sys.argv[1]).resolve()

P = "hpcchain."
PKG = {
    "kernel": "jit.decorators",
    "apart": "jit.outlined",
    "compilecache": "jit.cache",
    "sector.handle": "jit.struct",
    "propagators.vectors": "jit.simd",
    "propagators.vectors_plain": "jit.simd_plain",
    "sector.layout": "layout.arrays",
    "contact.segment": "layout.segment_bits",
    "sector.record": "layout.segment_record",
    "propagators.lanes": "layout.workspace",
    "sector.clockmath": "layout.clock",
    "sector.names": "layout.id_table",
    "sector.memory": "layout.memory",
    "model.groups": "model.equal_shapes",
    "model.exact": "model.numerics.exact_sum",
    "model.twofold": "model.numerics.double_double",
    "model.elementary": "model.numerics.portable_math",
    "model.start": "model.starts.start",
    "model.placement": "model.starts.placement",
    "model.placement_kernel": "model.starts.placement_kernel",
    "model.conformation": "model.starts.conformation",
    "model.overlap": "model.starts.overlap",
    "model.constraints": "model.starts.constraints",
    "model.tension": "model.starts.tension",
    "model.velocities": "model.starts.velocities",
    "model.copies": "model.starts.replicate_system",
    "model.thermal": "model.starts.replicate_velocities",
    "propagators.molecule": "propagators.interface",
    "propagators.points": "propagators.bead_polynomials",
    "propagators.chain": "propagators.taylor.chain",
    "propagators.chain_series": "propagators.taylor.chain_series",
    "propagators.structure": "propagators.taylor.bond_graph",
    "propagators.graph": "propagators.taylor.graph",
    "propagators.web": "propagators.taylor.graph_molecule",
    "propagators.steps": "propagators.steps.rattle_and_variational",
    "propagators.steppers": "propagators.steps.step_molecule",
    "propagators.paired": "propagators.steps.step_jacobian",
    "propagators.nullspace": "propagators.steps.null_space",
    "propagators.collocation": "propagators.collocation.collocation",
    "propagators.stages": "propagators.collocation.collocation_molecule",
    "propagators.newton": "propagators.collocation.collocation_newton",
    "propagators.gauss": "propagators.collocation.gauss_coefficients",
    "propagators.rotor": "propagators.rigid.rotor",
    "propagators.rod": "propagators.rigid.rod",
    "propagators.rod_steps": "propagators.rigid.rod_steps",
    "contact.discrete": "contact.variational_law",
    "contact.duration": "contact.tc_model",
    "sector.engine": "sector.serial",
    "sector.patch": "sector.ghosted",
    "sector.batch": "sector.event_budget",
    "sector.reading": "sector.sampling",
    "sector.blueprint": "sector.setup.molecule_classes",
    "sector.build": "sector.setup.allocate",
    "sector.beginning": "sector.setup.initialise",
    "sector.order": "sector.setup.morton",
    "sector.queue": "sector.queue.tournament",
    "sector.sequence": "sector.queue.event_order",
    "sector.lists": "sector.search.neighbour_lists",
    "sector.swept": "sector.search.broad_phase",
    "sector.fours": "sector.search.broad_phase_simd",
    "sector.search": "sector.search.earliest_event",
    "sector.refine": "sector.search.solved_contact_time",
    "sector.prefetch": "sector.search.prefetch",
    "sector.walls": "sector.search.wall_time",
    "sector.renew": "sector.segments.new_segment",
    "sector.free": "sector.segments.monomer",
    "sector.history": "sector.speculation.rollback",
    "sector.message": "sector.speculation.ghost_messages",
    "sector.window": "sector.speculation.window",
    "sector.idle": "sector.speculation.dormant_beads",
    "sector.loop": "sector.events.loop",
    "sector.collide": "sector.events.contact_event",
    "sector.ties": "sector.events.simultaneous",
    "sector.interest": "parallel.ghosts.reach",
    "parallel.groups": "parallel.ghosts.manager",
    "parallel.held": "parallel.ghosts.molecules",
    "parallel.rooms": "parallel.ghosts.skins",
    "parallel.sectors": "parallel.decomposition.sectors",
    "parallel.balance": "parallel.decomposition.balance",
    "parallel.threads": "parallel.thread_ranks",
    "io.files": "io.hdf5.files",
    "io.rows": "io.hdf5.slabs",
    "io.summed": "io.hdf5.checksummed",
    "io.seal": "io.hdf5.seal",
    "io.atomic": "io.hdf5.atomic",
    "io.collective": "io.hdf5.collective",
    "io.broken": "io.hdf5.unclosable",
    "io.checkpoint": "io.checkpoint.checkpoint",
    "io.checkpoint_layout": "io.checkpoint.layout",
    "io.checkpoint_store": "io.checkpoint.store",
    "io.directors": "io.checkpoint.orientations",
    "io.counted": "io.checkpoint.counters",
    "io.inventory": "io.output.inventory",
    "io.plain": "io.hdf5.plain",
    "model.embedding": "model.starts.embedding",
    "io.parts": "io.output.parts",
    "io.trajectory": "io.output.trajectory",
    "io.observables": "io.output.observables",
    "io.events": "io.output.events",
    "io.assemble": "io.output.assemble",
    "io.lineage": "io.output.lineage",
    "io.standing": "io.output.recoverable_output",
    "io.compare": "io.tools.compare",
    "io.inspect": "io.tools.inspect",
    "io.verify": "io.tools.verify",
    "io.export": "io.tools.export",
    "io.species": "io.tools.species",
    "io.targets": "io.tools.overwrite_guard",
    "run.control": "run.controller",
    "run.tally": "run.totals",
    "run.limit": "run.wall_limit",
    "run.from_file": "run.start_from_file",
    "run.spinning": "run.orientations",
    "observe.conditions": "observe.condition_numbers",
    "simulation": "api",
}
MODS = {P + k: P + v for k, v in PKG.items()}
EXTRA = pathlib.Path(__file__).with_name("moved_tests.py")
TESTMODS = {}
TESTFILES = {}
if EXTRA.exists():
    ns = {"__file__": str(EXTRA)}
    exec(EXTRA.read_text(), ns)
    TESTFILES = ns["files"](root)  # relative path -> relative path
    TESTMODS = ns["modules"]  # every dotted name a test helper is imported by -> new dotted name
MODS |= TESTMODS


def git(*a):
    subprocess.run(["git", "-C", str(root), *a], check=True)


FILES = {}
for old, new in MODS.items():
    if old.startswith(P):
        FILES[old.replace(".", "/") + ".py"] = new.replace(".", "/") + ".py"
FILES |= TESTFILES
FILES |= {"hpcchain/propagators/" + k: "hpcchain/propagators/" + v for k, v in {}.items()}

INITS = {
    "hpcchain/jit": "numba and LLVM plumbing: how kernels are compiled, cached and handed their arrays.",
    "hpcchain/layout": "What arrays mean: names of columns, bits and offsets, and where the arrays lie in memory.",
    "hpcchain/model/numerics": "Arithmetic that gives the same bits everywhere: exact sums, double-double numbers, portable functions.",
    "hpcchain/model/starts": "Initial configurations: placement, bonds, velocities, overlaps, copies of a start.",
    "hpcchain/propagators/taylor": "Taylor series of chains and of other bond graphs, to round-off.",
    "hpcchain/propagators/steps": "Stepping propagators: RATTLE and the variational midpoint rule, with their Newton solvers.",
    "hpcchain/propagators/collocation": "Gauss collocation: stages, their solvers and coefficients.",
    "hpcchain/propagators/rigid": "Rigid bodies on a line: the exact rotor of dimers, rods, and rods in steps.",
    "hpcchain/sector/setup": "From a system to a sector's arrays: classes of molecules, room, order in memory, first events.",
    "hpcchain/sector/queue": "Which event is next: the tournament of molecules' earliest events and the order of events at one time.",
    "hpcchain/sector/search": "Who meets whom, and when: neighbour lists, the broad phase, contact times.",
    "hpcchain/sector/segments": "New segments of free motion after an event, and the schedule of what follows from them.",
    "hpcchain/sector/speculation": "Time Warp inside a window: saved segments, rollback, and what owners tell of their molecules.",
    "hpcchain/sector/events": "The event loop and what an event does: contacts, also several at one instant.",
    "hpcchain/parallel/decomposition": "Which rank owns which part of the box, and how parts follow the cost.",
    "hpcchain/parallel/ghosts": "Who needs copies of which molecules: reach, skins, migration.",
    "hpcchain/io/hdf5": "What all files rest on: parallel HDF5, slabs, checksums, seals, atomic replacement.",
    "hpcchain/io/checkpoint": "Checkpoints: layout, writing, reading, keeping the last ones.",
    "hpcchain/io/output": "A run's results: parts while it runs, then trajectory, observables and events.",
    "hpcchain/io/tools": "What the command line does with files: compare, inspect, verify, export.",
}
EMPTY_INITS = {
    "hpcchain/contact": "What happens when beads meet: when they touch, and the impulses of every contact law.",
    "hpcchain/propagators": "Free motion of one molecule: one interface, one folder for each kind of propagator.",
    "hpcchain/observe": "What is measured while a run goes on: observables, averages, timers and the run log.",
    "hpcchain/sector": "The event-driven engine of one rank: set-up, queue, search, segments, speculation, events.",
}


def pyfiles():
    out = (
        subprocess.run(["git", "-C", str(root), "ls-files", "-z"], capture_output=True, check=True)
        .stdout.decode()
        .split("\0")
    )
    return [root / f for f in out if f and not f.startswith("tools/redesign")]


def is_python(p):
    if p.suffix == ".py":
        return True
    if p.suffix:
        return False
    try:
        return p.read_bytes()[:60].split(b"\n")[0].find(b"python") > 0 and p.read_bytes().startswith(b"#!")
    except OSError:
        return False


# ---- rewrite imports in one Python source ----


def resolve(module):
    return MODS.get(module)


def rewrite(path, text):
    try:
        tree = ast.parse(text)
    except SyntaxError as e:
        print("cannot parse", path, e)
        return text
    lines = text.split("\n")
    offs = [0]
    for l in lines:
        offs.append(offs[-1] + len(l.encode()) + 1)
    raw = text.encode()
    edits = []  # (start, end, new bytes)
    renames = {}  # local name -> new name
    binds = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            binds.add(node.id)
        elif isinstance(node, ast.arg):
            binds.add(node.arg)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            binds.add(node.name)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            groups = {}
            changed = False
            for a in node.names:
                full = node.module + "." + a.name
                if full in MODS:
                    newmod, leaf = MODS[full].rsplit(".", 1)
                    as_ = a.asname
                    if as_ is None and leaf != a.name:
                        target = leaf
                        if leaf in binds:
                            as_ = None
                            target = leaf + "_module"
                            as_ = target
                        if a.name in binds:
                            print(f"CHECK {path.relative_to(root)}:{node.lineno}: '{a.name}' is bound locally, too")
                        renames[a.name] = target
                    groups.setdefault(newmod, []).append((leaf, as_))
                    changed = True
                else:
                    m = MODS.get(node.module, node.module)
                    if m != node.module:
                        changed = True
                    groups.setdefault(m, []).append((a.name, a.asname))
            if changed:
                out = []
                indent = " " * node.col_offset
                for m, names in groups.items():
                    items = ", ".join(n + (f" as {s}" if s and s != n else "") for n, s in names)
                    line = f"from {m} import {items}"
                    if len(indent + line) > 120:
                        line = (
                            f"from {m} import (\n"
                            + "".join(f"{indent}    {n + (f' as {s}' if s and s != n else '')},\n" for n, s in names)
                            + indent
                            + ")"
                        )
                    out.append(line)
                start = offs[node.lineno - 1] + node.col_offset
                end = offs[node.end_lineno - 1] + node.end_col_offset
                edits.append((start, end, ("\n" + indent).join(out).encode()))
        elif isinstance(node, ast.Import):
            for a in node.names:
                if a.name in MODS and a.asname is None and "." not in a.name:
                    start = offs[node.lineno - 1] + node.col_offset
                    end = offs[node.end_lineno - 1] + node.end_col_offset
                    parent, leaf = MODS[a.name].rsplit(".", 1)
                    edits.append((start, end, f"from {parent} import {leaf}".encode()))
                    if leaf != a.name:
                        renames[a.name] = leaf
                elif a.name in MODS:
                    print(f"CHECK {path}:{node.lineno}: import {a.name}")
    spans = [(s, e) for s, e, _ in edits]
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in renames and renames[node.id] != node.id:
            start = offs[node.lineno - 1] + node.col_offset
            if any(s <= start < e for s, e in spans):
                continue
            edits.append((start, start + len(node.id.encode()), renames[node.id].encode()))
    for s, e, new in sorted(set(edits), reverse=True):
        raw = raw[:s] + new + raw[e:]
    return raw.decode()


# ---- rewrite words in strings, comments, documents ----
DOTTED = sorted(MODS, key=len, reverse=True)
dotted_re = re.compile(r"(?<![\w.])(" + "|".join(re.escape(d) for d in DOTTED if "." in d) + r")(?![\w])")
path_map = {k: v for k, v in FILES.items()}
path_re = re.compile("(" + "|".join(re.escape(k) for k in sorted(path_map, key=len, reverse=True)) + r")(?!\w)")
SHORT = {}
for old, new in PKG.items():
    if "." in old:
        SHORT[old] = new
short_re = re.compile(r"`(" + "|".join(re.escape(k) for k in sorted(SHORT, key=len, reverse=True)) + r")(\.\w+)?`")
leaf_map = {}
for old, new in PKG.items():
    o, n = old.rsplit(".", 1)[-1], new.rsplit(".", 1)[-1]
    if o != n:
        leaf_map.setdefault(o, set()).add((old, n))

BARE = {
    "history",
    "message",
    "swept",
    "fours",
    "refine",
    "renew",
    "record",
    "interest",
    "idle",
    "lists",
    "collide",
    "ties",
    "steppers",
    "lanes",
    "vectors",
    "vectors_plain",
    "clockmath",
    "compilecache",
    "beginning",
    "blueprint",
    "sequence",
    "web",
    "paired",
    "nullspace",
    "standing",
    "tally",
    "layout",
    "free",
    "handle",
    "patch",
    "discrete",
    "duration",
    "spinning",
    "elementary",
    "twofold",
    "tension",
    "placement",
}
DEFS = {}
for old in PKG:
    f = root / "hpcchain" / (old.replace(".", "/") + ".py")
    if f.exists():
        DEFS[old] = {
            n.name for n in ast.parse(f.read_text()).body if isinstance(n, (ast.FunctionDef, ast.ClassDef))
        } | {
            t.id
            for n in ast.parse(f.read_text()).body
            if isinstance(n, ast.Assign)
            for t in n.targets
            if isinstance(t, ast.Name)
        }


def leaf_fix(path, text):
    """`leaf` and `leaf.name` in backticks, where leaf is an old module's name."""

    def sub(m):
        leaf, tail = m.group(1), m.group(2) or ""
        for old, new in sorted(leaf_map.get(leaf, ())):
            if (tail and tail[1:] in DEFS.get(old, ())) or (not tail and leaf in BARE):
                return f"`{new}{tail}`"
        return m.group(0)

    return re.sub(r"`(\w+)(\.\w+)?`", sub, text)


bare_helper = re.compile(
    r"(?m)^(\s*)(from|import) (" + "|".join(k for k in TESTMODS if "." not in k) + r")\b( import|$)"
)


def words(path, text):
    if "tests" in path.parts:
        text = bare_helper.sub(lambda m: f"{m.group(1)}{m.group(2)} {TESTMODS[m.group(3)]}{m.group(4)}", text)
    text = dotted_re.sub(lambda m: MODS[m.group(1)], text)
    text = path_re.sub(lambda m: path_map[m.group(1)], text)
    text = short_re.sub(lambda m: "`" + SHORT[m.group(1)] + (m.group(2) or "") + "`", text)
    return leaf_fix(path, text) if is_python(path) else text


def words_in_python(path, text):
    out, last = [], 0
    lines = text.split("\n")
    offs = [0]
    for l in lines:
        offs.append(offs[-1] + len(l) + 1)
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except Exception as e:
        print("tokenize", path, e)
        return text
    for t in tokens:
        if t.type in (tokenize.STRING, tokenize.COMMENT):
            s = offs[t.start[0] - 1] + t.start[1]
            e = offs[t.end[0] - 1] + t.end[1]
            new = words(path, text[s:e])
            if new != text[s:e]:
                out.append(text[last:s])
                out.append(new)
                last = e
    out.append(text[last:])
    return "".join(out)


def main():
    for p in pyfiles():
        if not p.exists() or p.is_symlink():
            continue
        if is_python(p):
            text = p.read_text()
            new = words_in_python(p, rewrite(p, text))
        elif p.suffix in (".md", ".cfg", ".toml", ".sh", ".yml", ".yaml", ".ini", ".rst", ".job") or (
            not p.suffix and p.name not in ("LICENSE",)
        ):
            try:
                text = p.read_text()
            except UnicodeDecodeError:
                continue
            new = words(p, text)
        else:
            continue
        if new != text:
            p.write_text(new)
    # two steps, as a folder may take a former file's name
    pend = []
    for old, new in FILES.items():
        if old == new or not (root / old).exists():
            if not (root / old).exists() and not (root / new).exists():
                print("missing", old)
            continue
        tmp = old + ".moving"
        git("mv", old, tmp)
        pend.append((tmp, new))
    for tmp, new in pend:
        (root / new).parent.mkdir(parents=True, exist_ok=True)
        git("mv", tmp, new)
    for old, new in TESTFILES.items():
        f = root / new
        if f.exists():
            t = f.read_text()
            d = new.count("/") - old.count("/")
            if d:
                t = re.sub(
                    r"(__file__\)(?:\.resolve\(\))?\.parents\[)(\d)\]",
                    lambda m: f"{m.group(1)}{int(m.group(2)) + d}]",
                    t,
                )
            f.write_text(t)
    for f in (root / "tests").rglob("*.py"):
        t = f.read_text()
        n = re.sub(r"^sys\.path\.insert\(0, str\(Path\(__file__\)\.parents\[\d\]\)\)\n", "", t, flags=re.M)
        if n != t:
            f.write_text(n)
    for folder, doc in INITS.items():
        f = root / folder / "__init__.py"
        if not f.exists():
            f.write_text(f'"""{doc}"""\n')
            git("add", str(f))
    for folder, doc in EMPTY_INITS.items():
        f = root / folder / "__init__.py"
        if not f.read_text().strip():
            f.write_text(f'"""{doc}"""\n')


main()
