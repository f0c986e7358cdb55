#!/usr/bin/env python3
"""Compares the keys that Belvedere knows with those of Claude Code, and prints those that are new.

Run by hand, now and then; it reads types only and needs no network by itself:

    mkdir /tmp/sdk && cd /tmp/sdk && npm install --ignore-scripts @anthropic-ai/claude-agent-sdk
    python3 tests/claude_keys.py /tmp/sdk/node_modules/@anthropic-ai/claude-agent-sdk/sdk.d.ts

A new key goes to `USED` or `UNUSED` of src/config/more_settings.rs or to `IDLE` of src/config/sandbox_wishes.rs. If it
restricts, it also gets a row in tests/it/config/restrictions.rs and, unless it is heeded, one in src/config/restrictions.rs.
The status is 1 if something is new.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAME = re.compile(r"""^\s*(?:readonly\s+)?(?:'([^']+)'|"([^"]+)"|([\w$]+))\??\s*:\s*(.*)$""")
# What a key that restricts is called like.
RESTRICTS = re.compile(r"deny|denied|block|disallow|forbid|restrict|strict|only|disable|allowed|require|max", re.IGNORECASE)


def body(text: str, opening: str) -> str:
    """Returns what stands between the braces behind some words, without comments."""
    start = text.index("{", text.index(opening))
    depth = 0
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return re.sub(r"/\*.*?\*/", "", text[start + 1 : at], flags=re.DOTALL)
    raise ValueError(f"{opening} is not closed")


def keys(block: str) -> dict[str, str]:
    """Returns the keys of the outermost level, each with what follows it."""
    found, depth, last = {}, 0, None
    for line in block.splitlines():
        match = NAME.match(line) if depth == 0 else None
        if match:
            last = match[1] or match[2] or match[3]
            found[last] = ""
        if last is not None:
            found[last] += line + "\n"
        depth += line.count("{") + line.count("(") - line.count("}") - line.count(")")
    return found


def inner(text: str) -> str:
    return text[text.index("{") + 1 : text.rindex("}")]


def strings(path: str, name: str) -> set[str]:
    source = (ROOT / path).read_text()
    match = re.search(rf"const {name}: \[&str; \d+\] =\s*\[(.*?)\];", source, re.DOTALL)
    if not match:
        raise SystemExit(f"{path} has no list {name}")
    return set(re.findall(r'"([^"]+)"', match[1]))


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    text = Path(sys.argv[1]).read_text()
    more, wishes = "src/config/more_settings.rs", "src/config/sandbox_wishes.rs"
    settings = keys(body(text, "interface Settings {"))
    sandbox = keys(inner(settings["sandbox"]))
    nested = {}
    for section in ("network", "filesystem", "credentials"):
        nested |= {f"{section}.{key}": value for key, value in keys(inner(sandbox[section])).items()}
    flat = {key: value for key, value in sandbox.items() if key not in ("network", "filesystem", "credentials")}
    read = set(re.findall(r'"([\w.]+)"(?: \| "[\w.]+")* =>', (ROOT / wishes).read_text()))
    read |= {word for line in (ROOT / wishes).read_text().splitlines() if "=>" in line for word in re.findall(r'"(\w+)"', line)}
    known_nested = lambda key: key in strings(wishes, "IDLE") or key.split(".")[-1] in read
    agent = set(keys(body(text, "type AgentDefinition = {")))
    agent_known = strings("src/definition/keys.rs", "AGENT_KEYS") | {"prompt", "criticalSystemReminder_EXPERIMENTAL", "observerMessage"}
    events = set(re.findall(r"'(\w+)'", re.search(r"HOOK_EVENTS: readonly \[(.*?)\]", text)[1]))
    hook_source = "".join(path.read_text() for path in (ROOT / "src/hook").glob("*.rs"))
    fresh = {
        "settings": set(settings) - strings(more, "USED") - strings(more, "UNUSED"),
        "permissions": set(keys(inner(settings["permissions"]))) - strings(more, "USED_PERMISSIONS") - strings(more, "UNUSED_PERMISSIONS"),
        "sandbox": {key for key in {**flat, **nested} if not known_nested(key)},
        "agent files": agent - agent_known,
        "hook events": {event for event in events if f'"{event}"' not in hook_source},
    }
    for kind, names in fresh.items():
        for name in sorted(names):
            print(f"{kind}: {name}{'  (may restrict)' if RESTRICTS.search(name) else ''}")
    if not any(fresh.values()):
        print(f"nothing is new: {len(settings)} settings, {len(flat) + len(nested)} keys of the sandbox, {len(agent)} fields, {len(events)} events")
    return int(any(fresh.values()))


if __name__ == "__main__":
    sys.exit(main())
