import assert from "node:assert/strict";
import { test } from "node:test";
import { StatusError } from "@mooring/store";
import { unready } from "./unready.ts";

const refusing = (message: string, code = 500) => ({
  getText: () => Promise.reject(new StatusError("InternalError", message, {}, code)),
});

test("what an API server fails of its own checks is read, with or without a reason; one that is ready fails none", async () => {
  assert.deepEqual(await unready({ getText: async () => "ok" }), []);
  const ours =
    "the server responded with 500: [+]ping ok\n[-]state-disk failed: no space left\nreadyz check failed\n";
  assert.deepEqual(await unready(refusing(ours)), [
    {
      ...{ name: "state-disk", why: "no space left" },
      next: "make room on the disk of the state folder; writes go on by themselves then",
    },
  ]);
  const upstream =
    "the server responded with 500: [-]etcd failed: reason withheld\n[-]poststarthook/x failed\n";
  assert.deepEqual(
    (await unready(refusing(upstream))).map(({ name, why }) => [name, why]),
    [
      ["etcd", "reason withheld"],
      ["poststarthook/x", "no reason given"],
    ],
  );
  assert.deepEqual(await unready(refusing('forbidden: User "x" cannot get path "/readyz"', 403)), []);
});
