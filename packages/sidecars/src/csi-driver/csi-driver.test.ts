import assert from "node:assert/strict";
import { test } from "node:test";
import { type CSIDriver, CSIDrivers, DONE, Events } from "@mooring/store";
import { thorough } from "@mooring/store/testing";
import { startHarness } from "../testing/harness.ts";
import { DRIVER } from "../testing/objects.ts";
import { decideCsiDriver } from "./decide.ts";
import type { DeclaredCsiDriver } from "./object.ts";

const DECLARED: DeclaredCsiDriver = {
  ...{ fsGroupPolicy: "File", requiresRepublish: true, seLinuxMount: true },
  tokenRequests: [{ audience: "vault", expirationSeconds: 600 }],
  volumeLifecycleModes: ["Persistent", "Ephemeral"],
};

const object = (spec: CSIDriver["spec"]): CSIDriver => ({
  ...{ apiVersion: "storage.k8s.io/v1", kind: "CSIDriver", metadata: { name: DRIVER } },
  spec,
});

test("what is declared is made, what nobody declares is left alone, and what cannot be changed comes last", () => {
  const decide = (spec: CSIDriver["spec"], declared = DECLARED) =>
    decideCsiDriver({ csiDriver: object(spec), declared });
  assert.deepEqual(decideCsiDriver({ csiDriver: undefined, declared: {} }), { do: "create" });
  assert.deepEqual(decide({ ...DECLARED, podInfoOnMount: true }), DONE);
  assert.deepEqual(decide({ ...DECLARED, volumeLifecycleModes: ["Ephemeral", "Persistent"] }), DONE);
  assert.deepEqual(decide({}, { tokenRequests: [] }), DONE);
  const changed = { ...DECLARED, fsGroupPolicy: "None", volumeLifecycleModes: ["Persistent"] };
  assert.deepEqual(decide(changed), { do: "update", spec: { fsGroupPolicy: "File" } });
  const step = decide({ ...changed, fsGroupPolicy: "File" });
  assert.ok(step.do === "report");
  assert.match(step.message, /^volumeLifecycleModes is \["Persistent"\] and declared as .*"Ephemeral"\]/);
  assert.match(step.message, /cannot be changed: kubectl delete csidriver/);
});

test(
  "a CSIDriver that is deleted, changed, or from before becomes what is declared; what cannot be changed is reported",
  thorough(),
  async (t) => {
    const before = object({ attachRequired: false, podInfoOnMount: true, fsGroupPolicy: "None" });
    const declared = { ...DECLARED, attachRequired: true };
    const sidecars = { csiDriver: declared };
    const h = await startHarness(t, { sidecars, objects: [[CSIDrivers, before]] });
    const shows = (what: string, is: (found: CSIDriver["spec"]) => boolean) =>
      h.until(what, async () => {
        const found = await h.find(CSIDrivers, DRIVER);
        return found !== undefined && is(found.spec);
      });
    await shows("what can be changed", ({ fsGroupPolicy }) => fsGroupPolicy === "File");
    await h.until("it is reported", async () =>
      (await h.store.list(Events)).items.some(
        ({ reason, message }) =>
          reason === "CSIDriverNotAsDeclared" &&
          /attachRequired is false and declared as true/.test(message ?? ""),
      ),
    );
    assert.equal((await h.find(CSIDrivers, DRIVER))?.spec.podInfoOnMount, true);
    await h.store.delete(CSIDrivers, { name: DRIVER });
    await shows("it is made anew", ({ attachRequired }) => attachRequired === true);
    const made = (await h.find(CSIDrivers, DRIVER))?.spec;
    assert.deepEqual(made?.tokenRequests, declared.tokenRequests);
    assert.equal(made?.podInfoOnMount, false);
    const body = { spec: { requiresRepublish: false, tokenRequests: null } };
    await h.store.patch(CSIDrivers, { name: DRIVER }, { type: "merge", body });
    await shows(
      "it is put right",
      (spec) => spec.requiresRepublish === true && spec.tokenRequests?.length === 1,
    );
  },
);
