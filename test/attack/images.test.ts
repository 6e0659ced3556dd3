import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { eventually } from "@mooring/store/testing";
import { hostileLayout } from "../../packages/standalone/src/images/testing/hostile-layout.ts";
import { world } from "../support/world.ts";

const { kubectl } = await world();
const folder = await mkdtemp(join(tmpdir(), "hostile-image-"));
after(() => rm(folder, { recursive: true, force: true }));
const victim = join(folder, "victim");
const SECRET = "nobody may change this";

const pod = (name: string) => `
---
apiVersion: v1
kind: Pod
metadata: {name: ${name}}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers: [{name: main, image: "oci:${join(folder, name)}"}]`;

/** What the pod's container waits for, or has ended with. */
async function stateOf(name: string): Promise<string> {
  return eventually(`container of ${name} to be refused`, async () => {
    const state = await kubectl.run(
      "get",
      "pod",
      name,
      "-o",
      "jsonpath={.status.containerStatuses[0].state}",
    );
    return /ErrImagePull|ImagePullBackOff|CreateContainer|RunContainer|terminated/.test(state)
      ? state
      : undefined;
  });
}

test("a pod whose image writes through its links reaches nothing of the machine; one whose bytes are not its digest's does not start", async () => {
  await mkdir(victim);
  await writeFile(join(victim, "secret"), SECRET, { mode: 0o600 });
  await hostileLayout(join(folder, "hostile-links"), [
    [
      { name: "way", type: "2", link: victim },
      { name: "same", type: "1", link: "way/secret", mode: 0o666 },
    ],
    [
      { name: "way/new", body: "x" },
      { name: "way/.wh.secret", body: "" },
    ],
  ]);
  const bytes = [{ name: "file", body: "x" }];
  await hostileLayout(join(folder, "hostile-bytes"), [bytes], { stored: { layer: "other bytes" } });
  await kubectl.apply(["hostile-links", "hostile-bytes"].map(pod).join("\n"));
  assert.match(await stateOf("hostile-bytes"), /cannot get oci:.*hostile-bytes/);
  await stateOf("hostile-links");
  assert.deepEqual(await readdir(victim), ["secret"]);
  assert.equal(await readFile(join(victim, "secret"), "utf8"), SECRET);
  await kubectl.run("delete", "pod", "hostile-links", "hostile-bytes");
});
