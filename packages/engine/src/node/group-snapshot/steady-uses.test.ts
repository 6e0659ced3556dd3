import assert from "node:assert/strict";
import { test } from "node:test";
import type { MemberUse } from "./choose-quiesce.ts";
import { steadyUses } from "./steady-uses.ts";

const member = (volume: string, use: MemberUse["use"]): MemberUse => ({
  volume,
  pool: { name: "p", type: "xfs" },
  use,
});
const mounted = member("v-1", { as: "filesystem", mount: "/m" });
const open = member("v-2", { as: "device", device: "/dev/loop9", cgroups: [undefined] });
const closed = member("v-2", { as: "unused" });

/** A clock that nobody waits for, and what was read so far. */
function scripted(...reads: MemberUse[][]) {
  let count = 0;
  const read = async () => reads[Math.min(count++, reads.length - 1)] ?? [];
  return { read, reads: () => count, clock: { sleep: async () => {} } };
}

test("a tool that has a raw device open in passing does not refuse a group", async () => {
  const { read, reads, clock } = scripted([mounted, open], [mounted, open], [mounted, closed]);
  const { uses, quiesces } = await steadyUses(read, true, clock);
  assert.deepEqual(uses, [mounted, closed]);
  assert.deepEqual(
    quiesces.map(({ volume }) => volume),
    ["v-1", "v-2"],
  );
  assert.equal(reads(), 3);
});

test("a user that stays is refused with the volume's name", async () => {
  const { read, clock } = scripted([mounted, open]);
  await assert.rejects(steadyUses(read, false, clock), /volume v-2 is a raw device/);
});

test("a mount that the agent does not see and that appears, or goes, does not refuse a group; one that stays does", async () => {
  const hidden = member("v-2", { as: "hidden", where: "a container" });
  for (const later of [member("v-2", { as: "filesystem", mount: "/n" }), closed]) {
    const { read, clock } = scripted([mounted, hidden], [mounted, later]);
    assert.deepEqual((await steadyUses(read, true, clock)).uses, [mounted, later]);
  }
  const { read, clock } = scripted([mounted, hidden]);
  await assert.rejects(steadyUses(read, true, clock), /volume v-2 is in use where it cannot be kept still/);
});

test("what cannot change by waiting is refused at once", async () => {
  const folder = member("v-3", { as: "hidden", where: "/pods/1" });
  const { read, reads, clock } = scripted([{ ...folder, pool: { name: "d", type: "directory" } }]);
  await assert.rejects(steadyUses(read, false, clock), /volume v-3 is a folder in use/);
  assert.equal(reads(), 1);
});
