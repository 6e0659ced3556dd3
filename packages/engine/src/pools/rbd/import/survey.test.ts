import assert from "node:assert/strict";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { cephOfFile, withCeph } from "@mooring/store/testing";
import { createHost } from "../../../host/create-host.ts";
import { MIB, scratch } from "../../../testing/scratch.ts";
import { createPool } from "../../create-pool.ts";
import { surveyRbd } from "./survey.ts";

const host = createHost();
const withCluster = await withCeph();
const cluster = cephOfFile(after);
const [UUID, LEFT] = ["8d0ba728-0e17-11eb-a680-ce6eecc894de", "9d0ba728-0e17-11eb-a680-ce6eecc894de"];

/** A namespace of its own in the cluster, and a Ceph user who may only read there. */
async function emptyPlace(t: TestContext) {
  const dir = await scratch(t, host);
  const ceph = await cluster();
  const namespace = await ceph.namespace();
  const rbd = (...args: string[]) => ceph.admin("rbd", ...args);
  const keyring = join(dir, "reader.keyring");
  const read = ["mon", "profile rbd-read-only", "osd", "profile rbd-read-only"];
  await ceph.admin("ceph", "auth", "get-or-create", "client.reader", ...read, "-o", keyring);
  await chmod(keyring, 0o600);
  const reader = { conf: ceph.conf, user: "reader", keyring, pool: ceph.pool, namespace };
  return { dir, ceph, namespace, rbd, reader, where: `${ceph.pool}/${namespace}` };
}

test(
  "rbd: a survey shows each image as it is, with what ceph-csi has written down, and only reads",
  withCluster,
  async (t) => {
    const { dir, ceph, namespace, where, rbd, reader } = await emptyPlace(t);
    const omap = (object: string, key: string, value: string) =>
      ceph.admin("rados", "-p", ceph.pool, "-N", namespace, "setomapval", object, key, value);
    await rbd("create", "--size", "8M", `${where}/csi-vol-${UUID}`);
    await rbd("create", "--size", "8M", "--image-feature", "layering", `${where}/plain`);
    await rbd("create", "--size", "8M", `${where}/team-${LEFT}`);
    await rbd("snap", "create", `${where}/csi-vol-${UUID}@one`);
    await rbd("group", "create", `${where}/theirs`);
    await rbd("group", "image", "add", `${where}/theirs`, `${where}/plain`);
    for (const [uuid, name] of [
      [UUID, "pvc-1"],
      [LEFT, "pvc-2"],
    ] as const)
      await omap(`csi.volume.${uuid}`, "csi.volname", name);
    await omap(`csi.volume.${UUID}`, "csi.volume.owner", "shop");
    await omap(`csi.volume.${LEFT}`, "csi.volume.encryptKMS", "vault");
    await omap("csi.volumes.default", "csi.volume.pvc-1", UUID);
    // One that is open: a volume of ours, in use.
    const place = { conf: ceph.conf, user: ceph.user, keyring: ceph.keyring, pool: ceph.pool, namespace };
    const pool = createPool("rbd", { host, path: join(dir, "p"), rbd: { nodeID: "node-1", place } });
    t.after(() => pool.close().catch(() => {}));
    await pool.open();
    const device = await pool.devices.attach(await pool.create("v-p-1", 8 * MIB));

    const { images } = await surveyRbd({ host, place: reader, folder: dir });
    await pool.devices.detach(device);
    const [csi, ours, plain, left, ...more] = images;
    assert.deepEqual(more, []);
    assert.deepEqual(
      [csi?.name, csi?.size, csi?.snapshots, csi?.watchers, csi?.content, csi?.csi],
      [
        ...[`csi-vol-${UUID}`, 8 * MIB, 1, [], { kind: "nothing" }],
        { uuid: UUID, request: "pvc-1", whole: true, encrypted: false, owner: "shop" },
      ],
    );
    assert.equal(ours?.name, "mooring.v-p-1");
    assert.ok((ours?.watchers.length ?? 0) > 0, "it is open");
    assert.deepEqual(
      [plain?.features[0], plain?.group, plain?.csi],
      ["layering", `${where}/theirs`, undefined],
    );
    assert.deepEqual(left?.csi, { uuid: LEFT, request: "pvc-2", whole: false, encrypted: true });

    const one = await surveyRbd({ host, place: reader, folder: dir, images: ["plain"] });
    assert.deepEqual(
      one.images.map(({ name }) => name),
      ["plain"],
    );
    await assert.rejects(surveyRbd({ host, place: reader, folder: dir, images: ["none"] }), /no image none/);
  },
);

test(
  "rbd: a survey reads the beginning of a clone that has written nothing, finds what was renamed, and the size of sectors",
  withCluster,
  async (t) => {
    const { dir, ceph, where, rbd, reader: place } = await emptyPlace(t);
    const file = join(dir, "image");
    await host.exec.run("truncate", ["--size", "16M", file]);
    await host.exec.run("mkfs.ext4", ["-q", "-b", "1024", file]);
    await rbd("import", "--no-progress", file, `${where}/base`);
    await rbd("snap", "create", "--no-progress", `${where}/base@one`);
    await rbd("clone", "--rbd-default-clone-format", "2", `${where}/base@one`, `${where}/clone`);
    await rbd("image-meta", "set", `${where}/clone`, "mooring.sector-size", "512");
    const { images, names } = await surveyRbd({
      ...{ host, place, folder: dir, images: ["before", "base"] },
      renamed: new Map([["before", "clone"]]),
    });
    assert.deepEqual(
      images.map(({ name, parent, content, sectorSize }) => [name, parent, content, sectorSize]),
      [
        ["base", undefined, { kind: "ext4", unit: 1024 }, 4096],
        ["clone", `${ceph.pool}/base`, { kind: "ext4", unit: 1024 }, 512],
      ],
    );
    assert.deepEqual([...names].sort(), ["base", "clone"]);
  },
);
