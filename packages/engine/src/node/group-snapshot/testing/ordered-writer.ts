/**
 * Writes the same number to all files in turn, each on disk before the next, and then the next number: `FILE...`. At
 * any moment, each file has seen as much as its successor, or one number more. Says `ack N` when all of them have N.
 */
import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { BLOCK, MAGIC, SLOTS } from "./ordered-blocks.ts";

const files = process.argv.slice(2).map((path) => openSync(path, "r+"));
const block = Buffer.alloc(BLOCK, 0x5a);
MAGIC.copy(block);
let ended = false;
process.once("SIGTERM", () => {
  ended = true;
});

function next(number: number): void {
  if (ended) {
    for (const file of files) closeSync(file);
    return;
  }
  block.writeUInt32LE(number, MAGIC.length);
  block.writeUInt32LE(number, BLOCK - 4);
  for (const [index, file] of files.entries()) {
    block.writeUInt32LE(index, MAGIC.length + 4);
    writeSync(file, block, 0, BLOCK, (number % SLOTS) * BLOCK);
    fdatasyncSync(file);
  }
  process.stdout.write(`ack ${number}\n`);
  setImmediate(next, number + 1);
}
next(1);
