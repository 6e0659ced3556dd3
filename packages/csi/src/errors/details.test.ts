import assert from "node:assert/strict";
import { test } from "node:test";
import { CsiError } from "../index.ts";
import { pair } from "../testing/serve.ts";

const violation = (index: number, description = `volume "v-${index}" does not exist`) => ({
  field: `volume_ids[${index}]`,
  description,
  reason: "VOLUME_NOT_FOUND",
});

async function failureWith(t: Parameters<typeof pair>[0], violations: CsiError["violations"]) {
  const { client } = await pair(t, {
    volumeGroup: {
      createVolumeGroup: () => {
        throw CsiError.notFound("two volumes do not exist", { hint: "list them", violations });
      },
    },
  });
  const error = await client.volumeGroup.createVolumeGroup({ name: "g" }).catch((thrown: unknown) => thrown);
  assert.ok(error instanceof CsiError);
  assert.deepEqual([error.codeName, error.message], ["NOT_FOUND", "two volumes do not exist (list them)"]);
  return error;
}

test("a refusal names every field that is to blame, over the socket", async (t) => {
  const violations = [violation(0), { field: "parameters", description: "no reason in it" }];
  assert.deepEqual((await failureWith(t, violations)).violations, violations);
  assert.deepEqual((await failureWith(t, [])).violations, []);
});

test("a hundred of them arrive; what does not fit is counted, and the call still ends with its code", async (t) => {
  const hundred = Array.from({ length: 100 }, (_, index) => violation(index));
  assert.deepEqual((await failureWith(t, hundred)).violations, hundred);
  const many = Array.from({ length: 100 }, (_, index) => violation(index, "x".repeat(1000)));
  const { violations } = await failureWith(t, many);
  assert.ok(violations.length < 20, String(violations.length));
  assert.equal(violations.at(-1)?.description, `and ${100 - violations.length + 1} more`);
});
