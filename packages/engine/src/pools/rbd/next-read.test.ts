import assert from "node:assert/strict";
import { test } from "node:test";
import { NextRead } from "./next-read.ts";

test("who asks while a read goes on gets the next one, with all others who have asked by then", async () => {
  const begun: { resolve(value: number): void; reject(error: Error): void }[] = [];
  const reads = new NextRead(
    () => new Promise<number>((resolve, reject) => void begun.push({ resolve, reject })),
  );
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
  const first = reads.wait();
  await turn();
  const [second, third] = [reads.wait(), reads.wait()];
  await turn();
  assert.equal(begun.length, 1, "one at a time");
  begun[0]?.reject(new Error("the cluster does not respond"));
  await assert.rejects(first, /does not respond/);
  await turn();
  assert.equal(begun.length, 2);
  begun[1]?.resolve(7);
  assert.deepEqual(await Promise.all([second, third]), [7, 7]);
  const last = reads.wait();
  await turn();
  begun[2]?.resolve(8);
  assert.equal(await last, 8);
});
