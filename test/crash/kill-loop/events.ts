import { damageCopies } from "./copies.ts";
import { fill, makeRoom } from "./fill-event.ts";
import { keepersBelow } from "./keepers.ts";
import type { Life } from "./life.ts";
import { damageAndRestore } from "./restore-event.ts";
import type { KillLoop } from "./run.ts";

/** Something that happens beside the clients of a life, or between two. A further one is a line. */
export interface LoopEvent {
  name: string;
  weight: number;
  /** While clients are at work. */
  alive?(loop: KillLoop, life: Life): Promise<void>;
  /** While nothing runs. What is wrong is added. */
  dead?(loop: KillLoop, wrong: string[]): Promise<void>;
}

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const YEAR = 365 * 24 * HOUR;

export const EVENTS: readonly LoopEvent[] = [
  { name: "nothing", weight: 6 },
  {
    name: "copies damaged",
    weight: 2,
    dead: async ({ up, random }) => void (await damageCopies(up.stateDir, random)),
  },
  {
    name: "keeper killed",
    weight: 1,
    alive: async ({ up, random }) => {
      for (const pid of await keepersBelow(up.stateDir)) if (random.chance(0.6)) process.kill(pid, "SIGKILL");
    },
  },
  ...[
    ["seconds on", 40 * SECOND],
    ["hours on", 5 * HOUR],
    ["a year on", YEAR],
    ["seconds back", -40 * SECOND],
    ["hours back", -5 * HOUR],
    ["a year back", -YEAR],
  ].map(([name, by]) => ({
    name: `clock ${name}`,
    weight: 1,
    alive: ({ clock }: KillLoop) => clock.set(clock.offset + Number(by)),
  })),
  { name: "pool full", weight: 1, alive: fill, dead: makeRoom },
  { name: "store damaged and restored", weight: 1, dead: damageAndRestore },
  {
    name: "stopped, not killed",
    weight: 1,
    dead: async (loop) => {
      await loop.startWhole();
      await loop.up.end("SIGTERM");
      loop.forgetContainers();
    },
  },
];
