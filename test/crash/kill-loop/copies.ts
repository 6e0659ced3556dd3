import { open, stat, truncate } from "node:fs/promises";
import { checkStore, listCopies, type StateCopy } from "@mooring/store";
import type { Random } from "@mooring/store/testing";

/** Ways to damage a file. A further one is a line. */
const WAYS: readonly ((path: string, bytes: number, random: Random) => Promise<void>)[] = [
  (path, bytes, random) => flip(path, random.below(bytes), 1 << random.below(8)),
  async (path, bytes, random) => {
    for (let n = 0; n < 16; n += 1) await flip(path, random.below(bytes), 0xff);
  },
  (path, bytes, random) => truncate(path, random.below(bytes)),
  (path) => truncate(path, 0),
];

async function flip(path: string, at: number, bits: number): Promise<void> {
  const file = await open(path, "r+");
  const byte = Buffer.alloc(1);
  await file.read(byte, 0, 1, at);
  byte.writeUInt8((byte.readUInt8() ^ bits) & 0xff);
  await file.write(byte, 0, 1, at);
  await file.close();
}

export async function damageFile(path: string, random: Random): Promise<void> {
  const { size } = await stat(path);
  if (size > 0) await random.one(WAYS)(path, size, random);
}

/** Damages some of the copies that Mooring has made of its state, by turning bits and cutting ends off. */
export async function damageCopies(stateDir: string, random: Random): Promise<number> {
  const copies = await listCopies(stateDir);
  const damaged = copies.filter(() => random.chance(0.5));
  for (const { path } of damaged) await damageFile(path, random);
  return damaged.length;
}

/** The newest copy that is whole. */
export async function newestWhole(stateDir: string): Promise<StateCopy | undefined> {
  for (const copy of await listCopies(stateDir))
    if ((await checkStore(copy.path)).damage.length === 0) return copy;
  return undefined;
}
