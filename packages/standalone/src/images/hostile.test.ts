import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, statfs, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { createHost } from "@mooring/engine";
import { everyday, sample } from "@mooring/store/testing";
import { whileRoom } from "./disk-room.ts";
import type { Image } from "./image-cache.ts";
import { imageUser } from "./image-user.ts";
import { Images } from "./images.ts";
import { fetchImage } from "./pull.ts";
import {
  attributes,
  digestOfBytes,
  type Flaws,
  hostileLayout,
  type Member,
  sparse,
} from "./testing/hostile-layout.ts";

const folder = await mkdtemp(join(tmpdir(), "hostile-images-"));
// A cache that was hardly opened may still be making its folders.
after(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }));
const VICTIM = join(folder, "victim");
const CACHE = join(folder, "images");
const SECRET = "nobody may change this";
await mkdir(VICTIM);
await writeFile(join(VICTIM, "secret"), SECRET, { mode: 0o600 });
await mkdir(join(VICTIM, "kept"));

const stop = new AbortController();
after(() => stop.abort());
const images = new Images({
  host: createHost(),
  folder: CACHE,
  secrets: join(folder, "secrets"),
  hidden: async () => [],
  inUse: () => [],
  signal: stop.signal,
});

/** Everything that is not the cache's, with what shows that somebody has touched it. */
async function outside(): Promise<string[]> {
  const args = [folder, "-path", CACHE, "-prune", "-o", "-path", join(folder, "layouts"), "-prune", "-o"];
  const { stdout } = await promisify(execFile)("find", [...args, "-printf", "%p %m %u %n %s %l %C@\\n"]);
  return stdout
    .split("\n")
    .filter((line) => !/\/secrets(?:\/| )|hostile-images-\w+ /.test(line))
    .sort();
}

let serial = 0;
async function pull(layers: Parameters<typeof hostileLayout>[1], flaws: Flaws = {}): Promise<Image> {
  serial += 1;
  const layout = join(folder, "layouts", String(serial));
  await hostileLayout(layout, layers, flaws);
  return images.pull(`oci:${layout}`, {});
}

const UP = "../".repeat(30);
const victim = (name: string) => `${VICTIM}/${name}`.slice(1);

const LAYERS: Record<string, (readonly Member[])[]> = {
  "names that go up": [[{ name: `${UP}${victim("new")}`, body: "x" }]],
  "names from the root on": [[{ name: `/${victim("new")}`, body: "x" }]],
  "a file through a symbolic link": [
    [
      { name: "way", type: "2", link: VICTIM },
      { name: "way/new", body: "x" },
      { name: "way/secret", body: "x" },
    ],
  ],
  "a file through a link of an earlier layer": [
    [{ name: "way", type: "2", link: `${UP}${victim("")}` }],
    [{ name: "way/new", body: "x" }],
  ],
  "a folder's mode through a link": [
    [
      { name: "way", type: "2", link: `${VICTIM}/kept` },
      { name: "way", type: "5", mode: 0o777 },
      { name: "way/.", type: "5", mode: 0o777 },
    ],
  ],
  "a hard link to a file of the machine": [
    [
      { name: "same", type: "1", link: `/${victim("secret")}` },
      { name: "same", body: "x", mode: 0o666 },
    ],
  ],
  "a hard link that goes up": [[{ name: "same", type: "1", link: `${UP}${victim("secret")}`, mode: 0o666 }]],
  "a hard link through a symbolic link": [
    [
      { name: "way", type: "2", link: VICTIM },
      { name: "same", type: "1", link: "way/secret" },
      { name: "same", body: "x", mode: 0o666 },
    ],
  ],
  "writing through a link that is the file itself": [
    [
      { name: "file", type: "2", link: `${VICTIM}/secret` },
      { name: "file", body: "x" },
    ],
  ],
  "whiteouts of others' files": [
    [
      { name: "way", type: "2", link: VICTIM },
      { name: `${UP}${victim(".wh.secret")}`, body: "" },
    ],
    [
      { name: "way/.wh.secret", body: "" },
      { name: "way/.wh..wh..opq", body: "" },
      { name: ".wh...", body: "" },
      { name: ".wh..", body: "" },
    ],
  ],
  "a folder that becomes a link": [
    [
      { name: "way", type: "5", mode: 0o755 },
      { name: "way", type: "2", link: VICTIM },
      { name: "way/new", body: "x" },
    ],
  ],
  "a link that becomes a folder, twice": [
    [
      { name: "way", type: "2", link: VICTIM },
      { name: "way", type: "5", mode: 0o755 },
      { name: "way", body: "x" },
      { name: "way/new", body: "x" },
    ],
  ],
  "a sparse file of the old kind": [[{ name: "bomb", type: "S", realSize: 7 * 2 ** 30 }]],
  "a path that nobody can open": [[{ name: `${"d/".repeat(3000)}f`, body: "x" }]],
};

test("whatever the layers of an image are, nothing outside of its folder is made, changed or removed", async () => {
  const before = await outside();
  for (const [what, layers] of sample(Object.entries(LAYERS), { everyday: 5 })) {
    const result = await pull(layers).catch((error: unknown) => error);
    assert.deepEqual(await outside(), before, what);
    assert.equal(await readFile(join(VICTIM, "secret"), "utf8"), SECRET, what);
    if (result instanceof Error) assert.match(result.message, /^cannot get oci:/, what);
  }
  const left = (await readdir(CACHE)).filter((name) => name.startsWith("incoming-"));
  assert.deepEqual(left, []);
});

test(
  "what is odd in a layer stays in the image, and is no way around what a container may",
  everyday(),
  async () => {
    const odd: readonly Member[] = [
      { name: "null", type: "3", device: { major: 1, minor: 3 }, mode: 0o666 },
      { name: "disk", type: "4", device: { major: 254, minor: 0 }, mode: 0o666 },
      { name: "pipe", type: "6" },
      { name: "root", body: "x", mode: 0o6755 },
      { name: "new\nline\u001b[31m", body: "x" },
      { name: "twice", body: "a" },
      { name: "twice", body: "b" },
      { name: "etc/passwd", type: "2", link: `${VICTIM}/secret` },
      attributes({ "SCHILY.xattr.trusted.overlay.redirect": VICTIM }),
      { name: "redirected", type: "5", mode: 0o755 },
    ];
    const before = await outside();
    const { root = "" } = await pull([odd]);
    assert.ok(root.startsWith(`${CACHE}/unpacked/`), root);
    assert.deepEqual(await outside(), before);
    assert.equal(await readFile(join(root, "twice"), "utf8"), "b");
    assert.equal((await lstat(join(root, "pipe"))).isFIFO(), true);
    assert.deepEqual(
      (await stat(join(CACHE))).mode & 0o777,
      0o700,
      "no other user gets at what is set-user-id in it",
    );
    await assert.rejects(imageUser(root, "root", {}), /"root"/, "its links lead nowhere else");
  },
);

test(
  "an image that is not what its digests say is refused, and so is one for another platform",
  everyday(),
  async () => {
    const layer: readonly Member[] = [{ name: "file", body: "x" }];
    const DIGEST = `sha256:${"0".repeat(64)}`;
    const type = "application/vnd.oci.image.manifest.v1+json";
    const name = { annotations: { "org.opencontainers.image.ref.name": "latest" } };
    const elsewhere = { platform: { os: "plan9", architecture: "mips" } };
    const flaws: [string, Flaws, RegExp][] = [
      ["a layer", { stored: { layer: "other bytes" } }, /digest|gzip|header|size/i],
      ["a configuration", { stored: { config: "{}" } }, /digest|size|config/i],
      ["a manifest", { stored: { manifest: "{}" } }, /./],
      [
        "a manifest that is not there",
        { manifests: [{ mediaType: type, digest: DIGEST, size: 2, ...name }] },
        /cannot be read/,
      ],
      [
        "a digest that is a path",
        { manifests: [{ mediaType: type, digest: "sha256:../../index.json", size: 2, ...name }] },
        /./,
      ],
      ["no such tag", { manifests: [] }, /./],
      ["a configuration that is no object", { config: { config: ["x"] } }, /./],
      ["an entrypoint that is a text", { config: { config: { Entrypoint: "/bin/sh" } } }, /./],
      ["variables that are numbers", { config: { config: { Env: [1] } } }, /./],
      ["a NUL in a user", { config: { config: { User: "root\0x" } } }, /config\.User/],
      ["no JSON", { config: "{" }, /./],
      [
        "a long configuration",
        { config: { config: { Cmd: ["x".repeat(5 << 20)] } } },
        /longer than|too big|exceed/,
      ],
    ];
    for (const [what, flaw, why] of sample(flaws, { everyday: 5 }))
      await assert.rejects(pull([layer], flaw), (error: Error) => {
        assert.match(error.message, /^(?:cannot get oci:|config)/, what);
        assert.match(error.message, why, what);
        return true;
      });
    const layout = join(folder, "layouts/elsewhere");
    const digest = await hostileLayout(layout, [layer]);
    const list = JSON.stringify({
      ...{ schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json" },
      manifests: [{ mediaType: type, digest, size: 10, ...elsewhere }],
    });
    const top = digestOfBytes(list);
    await writeFile(join(layout, "blobs/sha256", top.slice(7)), list);
    const mediaType = "application/vnd.oci.image.index.v1+json";
    const index = { schemaVersion: 2, manifests: [{ mediaType, digest: top, size: list.length, ...name }] };
    await writeFile(join(layout, "index.json"), JSON.stringify(index));
    await assert.rejects(images.pull(`oci:${layout}`, {}), /cannot get oci:.*no image found/i);
  },
);

test(
  "an image that is exchanged between the read of its tag and the copy does not get the other's digest",
  everyday(),
  async () => {
    const layout = join(folder, "layouts/exchanged");
    await hostileLayout(layout, [[{ name: "which", body: "bad" }]]);
    const bad = await readFile(join(layout, "index.json"));
    const digest = await hostileLayout(layout, [[{ name: "which", body: "good" }]]);
    await writeFile(join(layout, "index.json"), bad);
    const place = await mkdtemp(join(folder, "layouts/place-"));
    const image = { kind: "layout", path: layout, tag: "latest" } as const;
    const options = { exec: createHost().exec, authFile: "/dev/null", signal: stop.signal };
    await fetchImage(image, digest, place, options);
    assert.equal(await readFile(join(place, "rootfs/which"), "utf8"), "good");
    await writeFile(join(layout, "blobs/sha256", digest.slice(7)), bad);
    await assert.rejects(
      fetchImage(image, digest, await mkdtemp(join(folder, "layouts/place-")), options),
      /manifest/,
    );
  },
);

test("a layout whose files are pipes, devices or longer than any index is refused at once", async () => {
  const run = promisify(execFile);
  const layer: readonly Member[] = [{ name: "file", body: "x" }];
  /** Pulls a layout of which some files, in `blobs/sha256` by default, are what the command makes there. */
  const exchanged = async (name: string, isOne: (file: string, digest: string) => boolean, by: string[]) => {
    const layout = join(folder, "layouts", name);
    const digest = await hostileLayout(layout, [layer]);
    const files = [
      ...(await readdir(join(layout, "blobs/sha256"))).map((hex) => `blobs/sha256/${hex}`),
      "index.json",
    ];
    for (const path of files.filter((file) => isOne(file, digest.slice(7)))) {
      await rm(join(layout, path));
      await run(by[0] ?? "", [...by.slice(1), join(layout, path)]);
    }
    return images.pull(`oci:${layout}`, {});
  };
  const index = (file: string) => file === "index.json";
  const manifest = (file: string, digest: string) => file.endsWith(digest);
  const blobs = (file: string, digest: string) => !index(file) && !manifest(file, digest);
  await assert.rejects(exchanged("pipe-1", index, ["mkfifo"]), /index\.json cannot be read: it is no file/);
  await assert.rejects(exchanged("pipe-2", manifest, ["mkfifo"]), /manifest .* cannot be read/);
  await assert.rejects(exchanged("pipe-3", blobs, ["mkfifo"]), /no such file/);
  await assert.rejects(exchanged("endless", index, ["ln", "-s", "/dev/zero"]), /it is no file/);
  await assert.rejects(exchanged("long", index, ["truncate", "--size=1T"]), /at most \d+ bytes/);
  const hidden = new Images({
    ...{ host: createHost(), folder: join(folder, "images-3"), secrets: join(folder, "secrets-3") },
    ...{ hidden: async () => [join(folder, "layouts")], inUse: () => [], signal: stop.signal },
  });
  const anothers = join(folder, "layouts/anothers");
  await hostileLayout(anothers, [layer]);
  await assert.rejects(hidden.pull(`oci:${anothers}`, {}), /which no container may see/);
});

test("an image that unpacks to more than the disk has ends with the disk as it was", everyday(), async () => {
  const disk = join(folder, "disk");
  await mkdir(disk);
  const run = promisify(execFile);
  await run("mount", ["-t", "tmpfs", "-o", "size=64m", "tmpfs", disk]);
  try {
    const small = new Images({
      ...{ host: createHost(), folder: join(disk, "images"), secrets: join(folder, "secrets-2") },
      ...{ hidden: async () => [], inUse: () => [], signal: stop.signal },
    });
    const layout = join(folder, "layouts/bomb");
    await hostileLayout(layout, [sparse("bomb", 7 * 2 ** 30)]);
    await assert.rejects(small.pull(`oci:${layout}`, {}), /cannot get oci:.*(?:no space left|MiB left)/);
    const { bfree, blocks } = await statfs(disk);
    assert.ok(bfree > blocks * 0.99, `${bfree} of ${blocks}`);
    await hostileLayout(`${layout}-2`, [[{ name: "file", body: "x" }]]);
    await small.pull(`oci:${layout}-2`, {});
  } finally {
    await run("umount", [disk]);
  }
});

test("work that fills a disk is stopped while it has some room left, and says so", everyday(), async () => {
  let free = 3 * 2 ** 30;
  const room = async () => ({ bytes: 2 ** 40, freeBytes: free, files: 1000, freeFiles: 500 });
  const work = (signal: AbortSignal) =>
    new Promise<void>((_, reject) => {
      free = 2 ** 29;
      signal.addEventListener("abort", () => reject(new Error("killed")));
    });
  await assert.rejects(
    whileRoom("/state", stop.signal, work, room),
    /disk of \/state has no more than 512 MiB left/,
  );
  await assert.rejects(
    whileRoom("/state", stop.signal, async () => {}, room),
    /512 MiB/,
    "nor begun",
  );
});
