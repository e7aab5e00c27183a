"""Rename identifiers of a checkout (after moves.py): python words.py CHECKOUT [--dry]"""

import ast, collections, fnmatch, io, pathlib, re, subprocess, sys, tokenize

root = pathlib.Path(sys.argv[1]).resolve()
ALL = ["hpcchain/*", "tests/*", "tools/*", "docs/*"]
SEC = [
    "hpcchain/sector/*",
    "hpcchain/contact/*",
    "hpcchain/layout/*",
    "hpcchain/parallel/*",
    "hpcchain/run/compiling.py",
    "tests/unit/sector/*",
    "tests/unit/contact/*",
    "tests/unit/layout/*",
    "tests/unit/parallel/*",
    "tests/unit/propagators/*",
    "tests/support/*",
    "tests/parallel/*",
    "tests/unit/jit/*",
    "tests/unit/test_columns.py",
    "hpcchain/papers/engine.py",
]
FIELD = SEC + ["hpcchain/propagators/*", "tests/physics/*", "tests/unit/propagators/*", "tests/property/*", "tools/*"]
TABLE = []


def r(old, new, scope=ALL, mode="any"):
    TABLE.append((old, new, scope, mode))


exec(pathlib.Path(__file__).with_name("words_table.py").read_text())


def tracked():
    out = (
        subprocess.run(
            ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            capture_output=True,
            check=True,
        )
        .stdout.decode()
        .split("\0")
    )
    return sorted({f for f in out if f and not f.startswith("tools/redesign") and (root / f).is_file()})


def is_python(p):
    if p.suffix == ".py":
        return True
    if p.suffix:
        return False
    try:
        head = p.read_bytes()[:80]
    except OSError:
        return False
    return head.startswith(b"#!") and b"python" in head.split(b"\n")[0]


def local_names(tree):
    """(function, names bound or used in it)"""
    for f in ast.walk(tree):
        if isinstance(f, ast.FunctionDef):
            names = {a.arg for a in [*f.args.args, *f.args.kwonlyargs, *f.args.posonlyargs]}
            names |= {n.id for n in ast.walk(f) if isinstance(n, ast.Name)}
            yield f, names


def rewrite(rel, text, rules, report):
    rules = {o: (n, m) for o, n, m in rules}
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except Exception as e:
        print("tokenize", rel, e)
        return text
    present = {t.string for t in tokens if t.type == tokenize.NAME}
    active = {
        o: v
        for o, v in rules.items()
        if o in present or f"`{o}" in text or f'"{o}"' in text or re.search(rf"^\s*[\w, ]*\b{o}\b[\w, ]* :", text, re.M)
    }
    if not active:
        return text
    clash = {o: n for o, (n, m) in active.items() if n in present and o in present}
    if clash:
        tree = ast.parse(text)
        for f, names in local_names(tree):
            for o, n in clash.items():
                if o in names and n in names:
                    report.append(f"{rel}:{f.lineno} {f.name}: {o} -> {n} clash")
        top = {x.name for x in tree.body if isinstance(x, (ast.FunctionDef, ast.ClassDef))} | {
            a.asname or a.name for x in ast.walk(tree) if isinstance(x, (ast.ImportFrom, ast.Import)) for a in x.names
        }
        for o, n in clash.items():
            if n in top:
                report.append(f"{rel}: {o} -> {n}: {n} is a module-level name here")
    lines = text.split("\n")
    offs = [0]
    for l in lines:
        offs.append(offs[-1] + len(l) + 1)
    out, last = [], 0
    prev = None

    def inner(s, is_string):
        def tick(m):
            w = m.group(1)
            head, dot, tail = w.partition(".")
            parts = w.split(".")
            new = [active[p][0] if p in active else p for p in parts]
            return "`" + ".".join(new) + "`"

        s = re.sub(r"`([\w.]+)`", tick, s)
        if is_string:

            def header(m):
                return (
                    m.group(1)
                    + re.sub(
                        r"\w+", lambda k: active[k.group(0)][0] if k.group(0) in active else k.group(0), m.group(2)
                    )
                    + m.group(3)
                )

            s = re.sub(r"^(\s*)(\w+(?:, \w+)*)( :)", header, s, flags=re.M)
        return s

    for t in tokens:
        new = None
        s = offs[t.start[0] - 1] + t.start[1]
        e = offs[t.end[0] - 1] + t.end[1]
        if t.type == tokenize.NAME and t.string in active:
            n, mode = active[t.string]
            attr = prev is not None and prev.string == "."
            if mode == "any" or mode == "str" or (mode == "attr" and attr) or (mode == "bare" and not attr):
                new = n
        elif t.type == tokenize.STRING:
            body = text[s:e]
            m = re.fullmatch(r"(['\"])(\w+)\1", body)
            if m and m.group(2) in active and active[m.group(2)][1] == "str":
                new = m.group(1) + active[m.group(2)][0] + m.group(1)
            else:
                k = inner(body, True)
                if k != body:
                    new = k
        elif t.type == tokenize.COMMENT:
            k = inner(text[s:e], False)
            if k != text[s:e]:
                new = k
        elif t.type == getattr(tokenize, "FSTRING_MIDDLE", -1):
            pass
        if new is not None and new != text[s:e]:
            out.append(text[last:s])
            out.append(new)
            last = e
        if t.type not in (tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT):
            prev = t
    out.append(text[last:])
    return "".join(out)


report = []
counts = collections.Counter()
for rel in tracked():
    p = root / rel
    rules = [(o, n, m) for o, n, sc, m in TABLE if any(fnmatch.fnmatch(rel, g) for g in sc)]
    if not rules:
        continue
    if is_python(p):
        text = p.read_text()
        new = rewrite(rel, text, rules, report)
        if new != text:
            try:
                ast.parse(new)
            except SyntaxError as e:
                print("BROKEN", rel, e)
                continue
            if "--dry" not in sys.argv:
                p.write_text(new)
    elif p.suffix == ".md":
        text = p.read_text()
        act = {o: n for o, n, m in rules if len(o) > 4 and ("_" in o or o[0].isupper())}
        new = re.sub(r"`([\w.]+)`", lambda m: "`" + ".".join(act.get(k, k) for k in m.group(1).split(".")) + "`", text)
        if new != text and "--dry" not in sys.argv:
            p.write_text(new)
print("\n".join(report))
print(len(report), "clashes")
