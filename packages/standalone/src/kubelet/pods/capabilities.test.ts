import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_CAPABILITIES, ownCapabilities } from "../../runtime/index.ts";
import { capabilitiesOf } from "./container-config.ts";

const of = (capabilities: { add?: string[]; drop?: string[] }): string[] =>
  capabilitiesOf({ name: "main", image: "host", securityContext: { capabilities } }).sort();

test("a drop binds what add names", () => {
  assert.deepEqual(of({ add: ["NET_ADMIN", "SYS_TIME"], drop: ["CAP_NET_ADMIN", "ALL"] }), ["SYS_TIME"]);
  assert.deepEqual(of({ add: ["ALL"], drop: ["ALL"] }), []);
  const all = ownCapabilities().filter((name) => name !== "SYS_CHROOT");
  assert.deepEqual(of({ add: ["ALL"], drop: ["SYS_CHROOT"] }), all.sort());
});

test("capabilities are the runtimes' usual ones, less what is dropped, and what is added", () => {
  assert.deepEqual(of({}), [...DEFAULT_CAPABILITIES].sort());
  assert.deepEqual(of({ add: ["CAP_SYS_TIME"], drop: ["ALL"] }), ["SYS_TIME"]);
  const kept = DEFAULT_CAPABILITIES.filter((name) => name !== "KILL");
  assert.deepEqual(of({ drop: ["KILL"] }), [...kept].sort());
  assert.deepEqual(of({ add: null as never, drop: null as never }), [...DEFAULT_CAPABILITIES].sort());
});
