import { readFileSync } from "node:fs";

const PAGE = 4096;

/** A line of damages.tsv. */
export interface PlannedDamage {
  line: number;
  part: string;
  how: string;
  which: number;
  at: number;
}

export function plannedDamages(): PlannedDamage[] {
  const text = readFileSync(new URL("./damages.tsv", import.meta.url), "utf8");
  return text.split("\n").flatMap((row, index) => {
    const [part = "", how = "", which, at] = row.split("\t");
    return row === "" || row.startsWith("#")
      ? []
      : [{ line: index + 1, part, how, which: Number(which), at: Number(at) }];
  });
}

/** The file, an older state of it, and the page that is to be damaged. */
export interface Target {
  file: Buffer;
  older: Buffer;
  page: number;
  at: number;
}

/** Numbers that look random and are the same in every run. */
function noise(bytes: Buffer, seed: number): void {
  let state = Math.floor(seed * 2 ** 31) | 1;
  for (let index = 0; index < bytes.length; index++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) | 0;
    bytes[index] = state >>> 16;
  }
}

/** Turns one letter of a value into another that is as good JSON. */
function letter(page: Buffer, at: number, pattern: RegExp): void {
  const start = Math.floor(at * PAGE * 0.9);
  const match = [...page.toString("latin1").matchAll(pattern)].map(({ index }) => index);
  const index = match.find((found) => found >= start) ?? match[0];
  if (index !== undefined) page[index] = (page[index] ?? 0) ^ 1;
}

function page({ file, page: number }: Target): Buffer {
  return file.subarray(number * PAGE, (number + 1) * PAGE);
}

function after({ file }: Target, change: () => void): Buffer {
  change();
  return file;
}

/** What can be done to a file: the result is the file afterwards, undefined when it is gone. */
export const WAYS: Readonly<Record<string, (target: Target) => Buffer | undefined>> = {
  flip: (target) => {
    const bytes = page(target);
    const bit = Math.floor(target.at * PAGE * 8);
    bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    return target.file;
  },
  zeros: (target) => after(target, () => page(target).fill(0)),
  ones: (target) => after(target, () => page(target).fill(0xff)),
  noise: (target) => after(target, () => noise(page(target), target.at)),
  other: (target) => {
    const from = 2 + Math.floor(target.at * (target.file.length / PAGE - 2));
    target.file.copy(page(target), 0, from * PAGE, (from + 1) * PAGE);
    return target.file;
  },
  older: (target) => {
    target.older.copy(page(target), 0, target.page * PAGE, (target.page + 1) * PAGE);
    return target.file;
  },
  letter: (target) => after(target, () => letter(page(target), target.at, /(?<=[a-z]{3})[a-z](?=[a-z])/g)),
  key: (target) => after(target, () => letter(page(target), target.at, /(?<=shelves\/\/s)\d/g)),
  truncate: ({ file, at }) => file.subarray(0, Math.floor(at * file.length)),
  longer: ({ file, at }) => Buffer.concat([file, Buffer.alloc(Math.floor(at * file.length), 7)]),
  missing: () => undefined,
  text: () => Buffer.from("nonsense".repeat(4096)),
  sparse: ({ file, at }) => file.fill(0, Math.floor(at * file.length), Math.floor((at + 0.1) * file.length)),
};
