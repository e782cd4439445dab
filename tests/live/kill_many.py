"""The long form of test_kill.py: `python tests/live/kill_many.py --times 50`.

Prints a line a death and a table at the end; exits with 1 if anything was lost or left behind.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter

import servers_there
from killing import VICTIMS, Kill, Slaughter, random_plan
from running import place

from dbdyno import systems
from dbdyno.errors import DynoError


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=50, help="how many deaths")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--kinds", default="sqlite,mariadb,postgres,mysql")
    parser.add_argument("--url", metavar="KIND", help="measure a server of this kind by its URL")
    parser.add_argument("--victims", default=",".join(VICTIMS))
    asked = parser.parse_args()
    if asked.url is None:
        kinds = [kind for kind in asked.kinds.split(",") if _is_here(kind)]
        return _kill(asked, kinds, asked.victims.split(","), None)
    with servers_there.there(asked.url) as server:
        server.grant(*server.own_schema())
        # The server is somebody else's, and has no guardian of dbdyno.
        return _kill(asked, [], ["dyno", "engine"], server)


def _kill(
    asked: argparse.Namespace,
    kinds: list[str],
    victims: list[str],
    server: servers_there.There | None,
) -> int:
    plan = random_plan(asked.times, asked.seed, victims)
    print(f"seed {asked.seed}; systems: {', '.join(kinds) or asked.url}", flush=True)
    print(f"{'#':>3}  {'victim':9} {'at s':>6} {'phase':9} {'exit':>4} {'clean s':>7}  ", end="")
    print("left behind, trials lost", flush=True)
    seen: list[Kill] = []
    before = server.schemas() if server else set()
    with place() as there:
        there.environment["APP_PASSWORD"] = servers_there.PASSWORD
        url = server.url if server else ""
        killer = Slaughter(there, kinds, asked.seed, hurry=True, url=url)
        for kill in killer.kills(plan):
            seen.append(kill)
            print(line(len(seen), kill), flush=True)
        code = killer.finish()
        left = there.until_clean()
        left += sorted(server.schemas() - before) if server else []
    bad = [kill for kill in seen if not kill.harmless]
    print(f"\nlast resume: exit code {code}; left: {left or 'nothing'}")
    print("deaths by victim and phase:")
    for (victim, phase), count in sorted(Counter((k.victim, k.phase) for k in seen).items()):
        print(f"  {victim:9} {phase:9} {count:>3}")
    print(f"{len(seen)} deaths, {killer.completed} runs completed, {len(bad)} with consequences")
    return int(bool(bad or code or left))


def line(number: int, kill: Kill) -> str:
    """A death as a row of the table."""
    what = "; ".join([*kill.left, *(f"LOST {name}" for name in kill.lost), kill.wrong]).strip("; ")
    return (
        f"{number:>3}  {kill.victim:9} {kill.at_s:>6.2f} {kill.phase:9} {kill.exit_code:>4} "
        f"{kill.clean_s:>7.2f}  {what or 'nothing, none'}"
    )


def _is_here(kind: str) -> bool:
    try:
        systems.load(kind).find(None)
    except DynoError as error:
        print(f"left out: {kind}: {error.what}")
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
