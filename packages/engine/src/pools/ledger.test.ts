import assert from "node:assert/strict";
import { test } from "node:test";
import { Ledger } from "./ledger.ts";

const MIB = 1024 ** 2;
const ROOM = { totalBytes: 100 * MIB, freeBytes: 100 * MIB, promisedBytes: 0, thickBytes: 0 };
const RULES = { overcommit: 1, reserve: 0 };
const WANTED = { size: 60 * MIB, thick: false, blocks: 0 };
const image = (id: string) => ({ id, size: 60 * MIB, path: `/images/${id}` });

test("what was made while the images were listed is promised, although the list does not have it", () => {
  const ledger = new Ledger();
  const making = new Set<string>();
  const count = ledger.beginCount((id) => making.has(id));
  making.add("v-1");
  ledger.reserve("v-1", WANTED, ROOM, RULES);
  making.delete("v-1");
  count([]);
  assert.equal(ledger.promised.promisedBytes, 60 * MIB);
  assert.throws(() => ledger.reserve("v-2", WANTED, ROOM, RULES), { code: "RESOURCE_EXHAUSTED" });
});

test("what another node has made is counted, and what it has removed is not", () => {
  const ledger = new Ledger();
  ledger.beginCount(() => false)([image("v-1")]);
  assert.equal(ledger.promised.promisedBytes, 60 * MIB);
  ledger.beginCount(() => false)([]);
  assert.equal(ledger.promised.promisedBytes, 0);
});

test("what was removed while the images were listed is not promised any more", () => {
  const ledger = new Ledger();
  ledger.beginCount(() => false)([image("v-1")]);
  const count = ledger.beginCount(() => false);
  ledger.correct("v-1", undefined);
  count([image("v-1")]);
  assert.equal(ledger.promised.promisedBytes, 0);
});
