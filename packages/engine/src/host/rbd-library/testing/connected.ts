import { readFileSync } from "node:fs";
import { type CephCluster, eventually } from "@mooring/store/testing";
import { RbdCommands } from "../../../pools/rbd/commands.ts";
import type { RbdPlace } from "../../../pools/rbd/place.ts";
import { createClock } from "../../clock.ts";
import { createExec } from "../../exec.ts";
import type { Exec } from "../../host.ts";
import { withRbdLibrary } from "../with-library.ts";

const clock = createClock();
const programs = createExec();

/** Programs, of which it is kept which were started. */
function counted(): { exec: Exec; started: string[] } {
  const started: string[] = [];
  const exec: Exec = {
    ...programs,
    try: (file, args, options) => {
      started.push(args.join(" "));
      return programs.try(file, args, options);
    },
  };
  return { exec, started };
}

/** Commands with a library that is connected, and what programs they start from now on. */
export async function connected(
  place: RbdPlace,
  folder: string,
): Promise<{ commands: RbdCommands; started: string[] }> {
  const { exec, started } = counted();
  const library = withRbdLibrary(exec, () => clock.sinceBoot());
  const commands = new RbdCommands({ exec: library, clock, place, folder });
  await commands.prepare();
  await eventually("the library to be connected", async () => {
    started.length = 0;
    await commands.rbd(["info", "--format", "json", "nothing"], { allow: [2] });
    return started.length === 0;
  });
  return { commands, started };
}

export const placeIn = ({ conf, user, keyring, pool }: CephCluster, namespace: string): RbdPlace => ({
  ...{ conf, user, keyring, pool, namespace },
});

/** Processes of libraries that a process (this one) has begun, but for those that were there before. */
export function libraryProcesses(before: readonly number[] = [], pid = process.pid): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ");
  const begun = children.map(Number).filter((pid) => pid > 0 && !before.includes(pid));
  return begun.filter((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("librbd.so"));
}
