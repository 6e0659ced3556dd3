/**
 * Writes 4 KiB to each file in turn, each on disk before the next: `FILE...`. A line of input asks for the writes since
 * the last request, as JSON: `[[start, milliseconds], ...]`, start in milliseconds since 1970; one under way counts.
 */
import { fdatasync, openSync, write } from "node:fs";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

const files = process.argv.slice(2).map((path) => openSync(path, "r+"));
const [put, sync] = [promisify(write), promisify(fdatasync)];
const block = Buffer.alloc(4096, 7);
let writes: [number, number][] = [];
let since = performance.now();
const lasted = (): [number, number] => [performance.timeOrigin + since, performance.now() - since];
createInterface({ input: process.stdin })
  .on("line", () => {
    process.stdout.write(`${JSON.stringify([...writes, lasted()])}\n`);
    writes = [];
  })
  .on("close", () => process.exit(0));

process.stdout.write("ready\n");
for (let round = 0; ; round = (round + 1) % 256) {
  for (const file of files) {
    since = performance.now();
    await put(file, block, 0, block.length, round * block.length);
    await sync(file);
    writes.push(lasted());
  }
}
