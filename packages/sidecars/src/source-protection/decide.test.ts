import assert from "node:assert/strict";
import { test } from "node:test";
import { DONE } from "@mooring/store";
import { decideSource, type SourceView } from "./decide.ts";

const idle: SourceView = { isProtected: true, ours: true, deleting: false, running: 0, waiting: 0 };

const rows: [title: string, changes: Partial<SourceView>, go: boolean][] = [
  ["nobody needs it", {}, true],
  ["a copy is under way", { running: 1 }, false],
  ["a copy is under way and it is being deleted", { running: 1, deleting: true }, false],
  ["a claim waits for it", { waiting: 1 }, false],
  ["a claim waits for it in vain: deletion goes first", { waiting: 1, deleting: true }, true],
  ["another driver's", { ours: false }, false],
  ["not protected", { isProtected: false }, false],
];
for (const [title, changes, go] of rows)
  test(`source protection: ${title}`, () =>
    assert.deepEqual(decideSource({ ...idle, ...changes }), go ? { do: "release" } : DONE));
