import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CsiError } from "@mooring/csi";
import { csiTicketId } from "@mooring/engine";
import { covers, howMany } from "@mooring/store/testing";
import fc from "fast-check";
import { snapshotIdOf, volumeIdOf } from "../names.ts";
import { isVolumeId } from "../objects/find.ts";
import { inOrder, paginate } from "../paging/token.ts";
import { canonicalList } from "./capability.ts";
import { chooseSize, SECTOR } from "./size.ts";
import { differences, type StoredVolumeRequest } from "./volume-request.ts";

const bytes = fc.bigInt({ min: 0n, max: 1n << 45n });

describe("sizes", () => {
  test("a chosen size keeps every promise, or there is none to choose", () => {
    covers("CSI-093", "CSI-094");
    fc.assert(
      fc.property(bytes, bytes, bytes, (requiredBytes, more, minimum) => {
        const limitBytes = more === 0n ? 0n : requiredBytes + more;
        const ceiling = limitBytes === 0n ? 1n << 53n : limitBytes;
        let size: bigint;
        try {
          size = chooseSize({ requiredBytes, limitBytes }, minimum);
        } catch (error) {
          assert.ok(error instanceof CsiError);
          const floor = requiredBytes > minimum ? requiredBytes : minimum;
          assert.ok(((floor + SECTOR - 1n) / SECTOR) * SECTOR > ceiling, "there was a size");
          return;
        }
        assert.equal(size % SECTOR, 0n);
        assert.ok(size >= requiredBytes && size >= minimum && size <= ceiling);
      }),
      { numRuns: howMany({ everyday: 2_000, deep: 20_000 }) },
    );
  });
});

describe("ids", () => {
  test("any name has one id that is safe in a path and differs from all others", () => {
    covers("CSI-097", "CSI-211");
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", minLength: 1 }),
        fc.string({ unit: "grapheme", minLength: 1 }),
        (a, b) => {
          assert.ok(isVolumeId(volumeIdOf(a)));
          assert.match(snapshotIdOf(a), /^s-[0-9a-f-]{36}$/);
          assert.equal(volumeIdOf(a) === volumeIdOf(b), a === b);
        },
      ),
    );
    for (const id of ["", "v-", "v-../x", "v-a/b", "V-1", "v-1\n", `v-${"a".repeat(64)}`])
      assert.equal(isVolumeId(id), false, id);
  });

  test("a ticket has the name that Kubernetes gives to its own attachment", () => {
    covers("LHA-070");
    // sha256 of handle, driver and node, without anything between them.
    assert.equal(
      csiTicketId("vol", "node"),
      "csi-f8a14acde9affe71ae3e3cbd6afedbdb82bf33cb0f75fff052c58a3b58df9ba2",
    );
  });
});

describe("pages", () => {
  const item = fc.record({
    createdAt: fc.constantFrom("2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.001Z"),
    name: fc.uuid(),
  });
  const items = fc.uniqueArray(item, { selector: (i) => i.name, maxLength: 40 });

  test("pages together are the list, whatever is deleted behind the reader", () => {
    covers("CSI-186", "CSI-190", "CSI-363");
    fc.assert(
      fc.property(
        items,
        fc.integer({ min: 1, max: 7 }),
        fc.infiniteStream(fc.boolean()),
        (all, maxEntries, deletes) => {
          let present = [...all];
          const seen: string[] = [];
          let startingToken = "";
          do {
            const page = paginate(
              inOrder(present, (i) => i),
              (i) => i,
              { maxEntries, startingToken },
            );
            assert.ok(page.items.length <= maxEntries);
            for (const { name } of page.items) seen.push(name);
            startingToken = page.nextToken ?? "";
            const last = page.items.at(-1);
            if (deletes.next().value === true) present = present.filter((i) => i !== last);
          } while (startingToken !== "");
          assert.deepEqual([...seen].sort(), all.map((i) => i.name).sort());
        },
      ),
    );
  });

  test("no other text is taken for a token", () => {
    covers("CSI-191");
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), (startingToken) => {
        assert.throws(
          () => paginate([], (i: { createdAt: string; name: string }) => i, { maxEntries: 0, startingToken }),
          CsiError,
        );
      }),
    );
  });
});

describe("requests", () => {
  const capability = fc.record({
    access: fc.constantFrom<"block" | "mount">("block", "mount"),
    mode: fc.constantFrom("SINGLE_NODE_WRITER", "MULTI_NODE_READER_ONLY"),
  });
  const map = fc.dictionary(fc.constantFrom("a", "b"), fc.constantFrom("1", "2"));
  const request: fc.Arbitrary<StoredVolumeRequest> = fc.record({
    name: fc.constant("n"),
    requiredBytes: fc.constantFrom("1", "2"),
    limitBytes: fc.constantFrom("0", "3"),
    capabilities: fc.array(capability, { minLength: 1, maxLength: 3 }),
    parameters: map,
    mutableParameters: map,
  });

  test("the order of capabilities and parameters makes no difference; everything else does", () => {
    covers("CSI-067");
    fc.assert(
      fc.property(request, request, (a, b) => {
        const shuffled = {
          ...a,
          capabilities: [...a.capabilities].reverse(),
          parameters: {
            ...Object.fromEntries(Object.entries(a.parameters).reverse()),
            "csi.storage.k8s.io/pvc/name": "given-or-not",
          },
        };
        assert.deepEqual(differences(a, JSON.parse(JSON.stringify(shuffled)) as StoredVolumeRequest), []);
        assert.deepEqual(differences(a, b), differences(b, a));
        const same = a.requiredBytes === b.requiredBytes && a.limitBytes === b.limitBytes;
        if (!same || canonicalList(a.capabilities) !== canonicalList(b.capabilities))
          assert.notDeepEqual(differences(a, b), []);
      }),
    );
  });
});
