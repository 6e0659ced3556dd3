import assert from "node:assert/strict";
import { test } from "node:test";
import { covers } from "@mooring/store/testing";
import fc from "fast-check";
import { EngineError } from "../../errors.ts";
import { chooseQuiesce, type MemberUse } from "./choose-quiesce.ts";

const XFS = { name: "x", type: "xfs" as const };
const BTRFS = { name: "b", type: "btrfs" as const };
const FOLDER = { name: "d", type: "directory" as const };
const unused: MemberUse["use"] = { as: "unused" };
const mounted: MemberUse["use"] = { as: "filesystem", mount: "/m" };
const grouped: MemberUse["use"] = { as: "device", device: "/dev/loop9", cgroups: ["/sys/fs/cgroup/w"] };
const loose: MemberUse["use"] = { as: "device", device: "/dev/loop9", cgroups: [undefined] };
const hidden: MemberUse["use"] = { as: "hidden", where: "elsewhere" };
const other: MemberUse = { volume: "other", pool: XFS, use: mounted };

const TABLE: [string, MemberUse["pool"], MemberUse["use"], MemberUse[], boolean, string][] = [
  ["a detached volume", XFS, unused, [other], true, "none"],
  ["a mounted volume", XFS, mounted, [other], true, "freeze"],
  ["the only mounted volume, for what is not synced yet", XFS, mounted, [], true, "freeze"],
  ["a raw device in a control group", XFS, grouped, [other], true, "cgroup"],
  ["the only raw device: its copy is atomic", XFS, loose, [], true, "none"],
  ["a raw device outside of a control group", XFS, loose, [other], true, "refused"],
  ["a volume in use where nobody sees", XFS, hidden, [other], true, "refused"],
  ["a mounted volume of a btrfs pool", BTRFS, mounted, [], true, "subvolume"],
  ["a raw device of a btrfs pool", BTRFS, loose, [], true, "subvolume"],
  ["a btrfs volume beside an xfs one", BTRFS, mounted, [other], true, "freeze"],
  ["a btrfs volume beside one on another node", BTRFS, mounted, [], false, "freeze"],
  ["a raw btrfs device beside another node", BTRFS, loose, [], false, "refused"],
  [
    "a btrfs volume beside a detached xfs one",
    BTRFS,
    mounted,
    [{ ...other, use: unused }],
    true,
    "subvolume",
  ],
  ["a folder that nobody uses", FOLDER, unused, [other], true, "none"],
  ["a folder in use", FOLDER, hidden, [], true, "refused"],
];

for (const [what, pool, use, others, alone, expected] of TABLE) {
  test(`${what}: ${expected}`, () => {
    const members = [{ volume: "v", pool, use }, ...others];
    if (expected === "refused") {
      assert.throws(
        () => chooseQuiesce(members, alone),
        (error) =>
          error instanceof EngineError &&
          error.code === "FAILED_PRECONDITION" &&
          /volume v /.test(error.message),
      );
      return;
    }
    assert.equal(chooseQuiesce(members, alone)[0]?.method, expected);
  });
}

test("no two members in use can be written to between their copies, unless one operation copies both", () => {
  covers("KEP-002");
  const use = fc.constantFrom(unused, mounted, grouped);
  const member = fc.record({ pool: fc.constantFrom(XFS, BTRFS, { ...BTRFS, name: "b2" }), use });
  fc.assert(
    fc.property(fc.array(member, { minLength: 1, maxLength: 8 }), fc.boolean(), (list, alone) => {
      const members = list.map((one, index) => ({ ...one, volume: `v-${index}` }));
      const free = chooseQuiesce(members, alone)
        .filter(({ targets }) => targets.length === 0)
        .flatMap(({ volume }) => members.filter((m) => m.volume === volume && m.use.as !== "unused"));
      if (free.length === 0) return;
      const used = members.filter((m) => m.use.as !== "unused");
      assert.ok(alone, "another node may write");
      const together = new Set(used.map(({ pool, volume }) => (pool.type === "btrfs" ? pool.name : volume)));
      assert.equal(together.size, 1);
    }),
  );
});
