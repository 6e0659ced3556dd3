import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type ConfigMap, ConfigMaps, isNotFound, ownerReferenceTo } from "@mooring/store";
import { eventually, howMany } from "@mooring/store/testing";
import fc from "fast-check";
import { startTestServer, type TestServer } from "../../apiserver/testing/test-server.ts";

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

interface Family {
  /** Per object the indices of its owners, which come before it. */
  owners: { of: number; blocks: boolean }[][];
  deleted: number;
  policy: "Background" | "Foreground" | "Orphan";
}

const families: fc.Arbitrary<Family> = fc.integer({ min: 1, max: 9 }).chain((size) =>
  fc.record({
    owners: fc.tuple(
      ...Array.from({ length: size }, (_, index) =>
        index === 0
          ? fc.constant<Family["owners"][number]>([])
          : fc.uniqueArray(fc.record({ of: fc.nat(index - 1), blocks: fc.boolean() }), {
              selector: ({ of }) => of,
              maxLength: 3,
            }),
      ),
    ),
    deleted: fc.nat(size - 1),
    policy: fc.constantFrom("Background" as const, "Foreground" as const, "Orphan" as const),
  }),
);

/** What Kubernetes promises: the deleted object goes, and all that lose their last owner, unless they are orphaned. */
function survivors({ owners, deleted, policy }: Family): Map<number, number[]> {
  const gone = new Set([deleted]);
  for (const [index, mine] of owners.entries()) {
    if (policy !== "Orphan" && mine.length > 0 && mine.every(({ of }) => gone.has(of))) gone.add(index);
  }
  const left = owners.map(
    (mine, index) => [index, mine.map(({ of }) => of).filter((of) => !gone.has(of))] as const,
  );
  return new Map(
    left.filter(([index]) => !gone.has(index)).map(([index, mine]) => [index, [...mine].sort()]),
  );
}

let round = 0;

async function create({ owners }: Family, prefix: string): Promise<void> {
  const made: ConfigMap[] = [];
  for (const [index, mine] of owners.entries()) {
    const ownerReferences = mine.flatMap(({ of, blocks }) => {
      const owner = made[of];
      return owner === undefined
        ? []
        : ownerReferenceTo(owner, { controller: false, blockOwnerDeletion: blocks });
    });
    const metadata = {
      namespace: "default",
      name: `${prefix}-${index}`,
      labels: { family: prefix },
      ownerReferences,
    };
    made.push(
      await server.store.create<ConfigMap>(ConfigMaps, { apiVersion: "v1", kind: "ConfigMap", metadata }),
    );
  }
}

async function present(prefix: string): Promise<Map<number, number[]>> {
  const { items } = await server.store.list(ConfigMaps, {
    namespace: "default",
    labelSelector: `family=${prefix}`,
  });
  const index = (name: string) => Number(name.slice(prefix.length + 1));
  return new Map(
    items.map(({ metadata }) => [
      index(metadata.name),
      (metadata.ownerReferences ?? []).map(({ name }) => index(name)).sort(),
    ]),
  );
}

/** The collector works in order of events, so an orphan made now is collected after everything before it. */
async function settled(): Promise<void> {
  const key = { namespace: "default", name: `marker-${round}` };
  const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "nobody", uid: key.name }];
  await server.store.create<ConfigMap>(ConfigMaps, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { ...key, ownerReferences },
  });
  await eventually("the marker is collected", async () => {
    try {
      await server.store.get(ConfigMaps, key);
      return false;
    } catch (error) {
      return isNotFound(error);
    }
  });
}

test("of any family exactly those survive that Kubernetes lets survive", async () => {
  await fc.assert(
    fc.asyncProperty(families, async (family) => {
      round += 1;
      const prefix = `family-${round}`;
      await create(family, prefix);
      const key = { namespace: "default", name: `${prefix}-${family.deleted}` };
      await server.store.delete(ConfigMaps, key, { propagationPolicy: family.policy });
      const expected = survivors(family);
      const asExpected = async () => {
        assert.deepEqual(await present(prefix), expected);
        return true;
      };
      await eventually("the family is as expected", asExpected, { mayThrow: true });
      await settled();
      await asExpected();
    }),
    { numRuns: howMany({ everyday: 20, full: 60, deep: 1_000 }), endOnFailure: false },
  );
});
