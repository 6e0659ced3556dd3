import { fdatasyncSync, openSync, readSync, writeSync } from "node:fs";
import { encode, offsetOf } from "./records.ts";

/**
 * One writer: `writer <file or device> <volume> <fifo in> <fifo out>`. Waits for the number of a record, writes the
 * record, makes it durable, passes the number on. Both ends of a fifo are open in every process, so that none ends.
 */
const [, , path = "", volume = "", incoming = "", outgoing = ""] = process.argv;
const target = openSync(path, "r+");
const from = openSync(incoming, "r+");
const to = openSync(outgoing, "r+");
const token = Buffer.alloc(4);

for (;;) {
  readSync(from, token);
  const sequence = token.readUInt32LE(0);
  writeSync(target, encode(Number(volume), sequence), 0, undefined, offsetOf(sequence));
  fdatasyncSync(target);
  writeSync(to, token);
}
