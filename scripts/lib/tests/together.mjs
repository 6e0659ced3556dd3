// Which test files share a process: what they have in common is then loaded once, and stays fast.
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { FOR_EFFECT } from "./compile.mjs";

/** One process has so many files at most, and so many seconds: a long one would be waited for at the end. */
const MOST = 16;
const SECONDS = 80;
/** A file of so many seconds gains nothing that counts. */
const LONG_SECONDS = 40;
/** For each test of a file: in a process with others it would be for each of theirs. */
const OF_EACH_TEST = /^(?:before|after)Each\(/m;

/** `items` in groups, each for one process: neighbours whose lane allows it. A group is what an item is, with `files`. */
export async function together(items) {
  const groups = [];
  const worlds = new Map();
  let open;
  for (const item of items) {
    if (worlds.has(item.world)) {
      add(worlds.get(item.world), item);
      continue;
    }
    const mayShare = await mayShareProcess(item);
    if (mayShare && open !== undefined && fits(open, item)) {
      add(open, item);
      continue;
    }
    const group = { ...item, files: [item] };
    groups.push(group);
    if (item.world !== undefined) worlds.set(item.world, group);
    else if (mayShare) open = group;
  }
  return groups;
}

async function mayShareProcess({ shares, seconds, spare, file }) {
  if (!shares || spare || seconds > LONG_SECONDS) return false;
  const text = await readFile(file, "utf8");
  // What is imported for its effect has it in every other file as well.
  return !OF_EACH_TEST.test(text) && !FOR_EFFECT.test(text);
}

function fits({ files, seconds, apart }, item) {
  const isNear = packageOf(files[0].name) === packageOf(item.name);
  return isNear && apart === item.apart && files.length < MOST && seconds + item.seconds <= SECONDS;
}

const packageOf = (name) => dirname(name).split("/").slice(0, 2).join("/");

function add(group, item) {
  // What the group takes of the machine is what its files take, by how long they take it.
  const seconds = group.seconds + item.seconds;
  group.cost = (group.cost * group.seconds + item.cost * item.seconds) / Math.max(seconds, 0.1);
  group.seconds = seconds;
  group.files.push(item);
}
