import { availableParallelism } from "node:os";
import { stop } from "../say.mjs";

/** Described in packages/store/src/testing/sample.ts. */
const PARTS = ["everyday", "rest", "all"];

/** What `node-test.mjs` is asked for. `flags` are node's. */
export function parseArguments(args) {
  const wanted = {
    ...{ roots: [], flags: [], changed: undefined, record: false, keepTimes: false },
    ...{ show: false, inTurn: false, spareUntil: Number.POSITIVE_INFINITY },
    part: process.env.MOORING_TESTS ?? "everyday",
    // A test waits for disks, locks and others about a third of its time.
    capacity: availableParallelism() * 1.5,
    // As many files at a time when processors idle: each has memory as well.
    most: availableParallelism() * 6,
  };
  for (const arg of args) {
    const [name, value] = arg.split(/=(.*)/s);
    if (!arg.startsWith("--")) wanted.roots.push(arg);
    else if (name === "--changed") wanted.changed = value ?? "";
    else if (name === "--part") wanted.part = value;
    else if (name === "--jobs") Object.assign(wanted, { capacity: Number(value), most: 0 });
    else if (name === "--record") wanted.record = true;
    else if (name === "--in-turn") wanted.inTurn = true;
    else if (name === "--spare-until") wanted.spareUntil = Number(value) * 1000;
    else if (name === "--keep-times") wanted.keepTimes = true;
    else if (name === "--show") wanted.show = true;
    else wanted.flags.push(arg);
  }
  if (!PARTS.includes(wanted.part))
    stop(`${wanted.part} is no part of the tests`, `one of ${PARTS.join(", ")}`);
  if (wanted.record && (wanted.part === "rest" || wanted.roots.length > 0 || wanted.changed !== undefined))
    stop("--record needs a run of all files", "npm run test:all");
  if (wanted.keepTimes && (wanted.part !== "everyday" || wanted.roots.length > 0))
    stop("--keep-times needs a run of all files of every day", "npm test -- --keep-times");
  if (!(wanted.capacity >= 1)) stop("--jobs takes a number from 1");
  if (!(wanted.spareUntil >= 0))
    stop("--spare-until takes the seconds since 1970", "--spare-until=$(date +%s)");
  return wanted;
}
