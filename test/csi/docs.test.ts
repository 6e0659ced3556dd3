import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { volumegroup } from "@mooring/csi";
import { TOPOLOGY_NODE_KEY } from "@mooring/engine";
import { covers } from "@mooring/store/testing";
import { startDriver } from "./support/driver.ts";
import { MooringProcess, plainEnvironment } from "./support/process.ts";
import { fails, volumeId } from "./support/volumes.ts";

const README = await readFile(new URL("../../packages/driver/README.md", import.meta.url), "utf8");
const GUIDE = await readFile(new URL("../../docs/tasks/driver.md", import.meta.url), "utf8");
const driver = await startDriver({ pool: "directory" });

test("the documentation describes of secrets, topology and Probe what the driver does", async () => {
  covers("CSI-038", "CSI-079", "CSI-057");
  assert.match(README, /Secrets: none are needed/);
  assert.ok(README.includes(TOPOLOGY_NODE_KEY));
  const { accessibleTopology } = await driver.node.nodeGetInfo({});
  assert.deepEqual(Object.keys(accessibleTopology?.segments ?? {}), [TOPOLOGY_NODE_KEY]);
  assert.match(README, /`Probe`.*every few seconds/s);
});

test("whether volumes of a group are consistent is described by the documentation, and by no field of the service", async () => {
  covers("GRP-046");
  const page = await readFile(new URL("../../docs/tasks/volume-group-service.md", import.meta.url), "utf8");
  assert.match(page, /Being in a group promises nothing about consistency\..*\[group snapshot\]/s);
  const { messages } = volumegroup.file_volumegroup_volumegroup;
  const fields = messages.flatMap(({ fields: all }) => all.map(({ name }) => name));
  assert.ok(fields.includes("volume_ids"));
  assert.deepEqual(
    fields.filter((name) => /consisten|quiesc|atomic/.test(name)),
    [],
  );
});

test("every setting is documented with its variable; so is what the machine must have", async () => {
  covers("CSI-319", "CSI-338", "CSI-340");
  const help = new MooringProcess(["driver", "--help"], plainEnvironment());
  assert.equal(await help.ended(), 0);
  const options = help.stdout.match(/--[a-z-]+(?= <)/g) ?? [];
  const variables = help.stdout.match(/\b(MOORING|CSI)_[A-Z_]+/g) ?? [];
  assert.ok(options.length >= 8 && variables.length >= 8, help.stdout);
  for (const word of [...options, ...variables]) {
    assert.ok(README.includes(`\`${word}\``), word);
    assert.match(GUIDE, new RegExp(`\`${word}[\` ]`), `docs/tasks/driver.md has ${word}`);
  }
  for (const need of ["CAP_SYS_ADMIN", "/dev/loop", "mount propagation", "memory", "losetup", "filefrag"]) {
    assert.ok(README.includes(need), need);
  }
});

test("it logs to standard error only, as documented: there is no log file to describe", async () => {
  covers("CSI-332", "CSI-331");
  assert.match(README, /logs to standard error only/);
  await fails("INVALID_ARGUMENT", volumeId(driver, ""));
  assert.match(driver.process.stderr, /CreateVolume/);
  assert.equal(driver.process.stdout, "");
});

/** What the refusal lists. */
const known = (message: string) =>
  (/Known(?: parameters)?: ([\w, ]+)\./.exec(message)?.[1] ?? "").split(", ").sort();

/** The words in code font of one entry of a list, but for values and keys of others. */
function documented(text: string, entry: string): string[] {
  const [, rest = ""] = text.split(`- ${entry}: `);
  const [own = ""] = rest.split(/\n(?:- |\n)/);
  const words = [...own.matchAll(/`(\w+)`/g)].map(([, word = ""]) => word);
  return [...new Set(words)]
    .filter((word) => !["true", "false", "max", "ext4", "btrfs", "xfs", "thin", "thick"].includes(word))
    .sort();
}

test("the parameters that are documented are those that the refusal of an unknown one names, all of them", async () => {
  covers("CSI-074");
  const colour = { colour: "red" };
  const plain = known(await fails("INVALID_ARGUMENT", volumeId(driver, "p", { parameters: colour })));
  assert.deepEqual(documented(README, "Parameters"), plain);
  assert.deepEqual(documented(GUIDE, "Parameters of a StorageClass"), plain);
  const modify = driver.controller.controllerModifyVolume({
    ...{ volumeId: await volumeId(driver, "m"), mutableParameters: colour },
  });
  assert.deepEqual(documented(README, "Mutable parameters"), known(await fails("INVALID_ARGUMENT", modify)));
  const group = driver.client.groupController.createVolumeGroupSnapshot({
    ...{ name: "g", sourceVolumeIds: ["v-1"], parameters: colour },
  });
  const ofGroups = known(await fails("INVALID_ARGUMENT", group));
  assert.deepEqual(documented(README, "Parameters of group snapshots"), ofGroups);
  assert.deepEqual(documented(GUIDE, "Parameter of a VolumeGroupSnapshotClass"), ofGroups);
});
