import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { thorough } from "@mooring/store/testing";
import { world } from "../support/world.ts";

const { kubectl, shows } = await world();

/** A pod whose first container fills a volume, and whose second has it at `mountPath`. */
async function apply(name: string, mountPath: string, image = "host"): Promise<void> {
  const volume = (mountPath: string) => [{ name: "volume", mountPath }];
  const fill =
    "ln -s /proc/sys/kernel/core_pattern /volume/null; mkdir /volume/pts /volume/shm /volume/mqueue";
  const spec = {
    restartPolicy: "Never",
    initContainers: [
      { name: "fill", image: "host", command: ["sh", "-c", fill], volumeMounts: volume("/volume") },
    ],
    containers: [{ name: "main", image, command: ["/bin/sleep", "1000"], volumeMounts: volume(mountPath) }],
    volumes: [{ name: "volume", emptyDir: {} }],
  };
  await kubectl.apply(JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: { name }, spec }));
}

async function isRefused(name: string, mountPath: string): Promise<void> {
  const waiting = "{.status.containerStatuses[0].state.waiting";
  await shows(["pod", name], `${waiting}.reason}`, "CreateContainerConfigError");
  const message = await kubectl.run("get", "pod", name, "-o", `jsonpath=${waiting}.message}`);
  assert.ok(
    message.includes(`cannot be honoured: spec.containers[0].volumeMounts[0].mountPath: ${mountPath}: `),
    message,
  );
  await kubectl.run("delete", "pod", name, "--wait=false");
}

for (const [name, mountPath, shown] of [
  ["dev", "/dev", "/dev"],
  ["dev-slash", "/dev/", "/dev"],
  ["dev-dots", "/usr/../dev/.", "/dev"],
  ["root", "/", "/"],
] as const)
  test(
    `a pod that brings its own ${mountPath} does not decide what masked files of /proc show`,
    thorough(),
    async () => {
      await apply(name, mountPath);
      await isRefused(name, shown);
    },
  );

test("neither does one whose image leads there by a link", thorough(), async (t) => {
  const image = await mkdtemp(join(tmpdir(), "linked-image-"));
  t.after(() => rm(image, { recursive: true, force: true }));
  await mkdir(join(image, "dev"));
  await symlink("../dev/.", join(image, "way"));
  await apply("dev-link", "/way", `dir:${image}`);
  await isRefused("dev-link", "/dev");
});
