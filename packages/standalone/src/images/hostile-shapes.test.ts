import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createHost } from "@mooring/engine";
import { sample } from "@mooring/store/testing";
import { Images } from "./images.ts";
import { attributes, digestOfBytes, hostileLayout, layerOf, type Member } from "./testing/hostile-layout.ts";

const folder = await mkdtemp(join(tmpdir(), "hostile-shapes-"));
after(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }));
const CACHE = join(folder, "images");
const stop = new AbortController();
after(() => stop.abort());
const images = new Images({
  ...{ host: createHost(), folder: CACHE, secrets: join(folder, "secrets") },
  ...{ hidden: async () => [], inUse: () => [], signal: stop.signal },
});

const INDEX = "application/vnd.oci.image.index.v1+json";
const MANIFEST = "application/vnd.oci.image.manifest.v1+json";
const NAME = { annotations: { "org.opencontainers.image.ref.name": "latest" } };
const HERE = { platform: { os: "linux", architecture: process.arch === "x64" ? "amd64" : process.arch } };
const [A, B] = ["a", "b"].map((digit) => `sha256:${digit.repeat(64)}`) as [string, string];

interface Blob {
  digest: string;
  size: number;
}

/** A layout with one image that no other case has, and what it is made of. */
class Layout {
  readonly path: string;
  readonly digest: string;

  private constructor(path: string, digest: string) {
    this.path = path;
    this.digest = digest;
  }

  static async of(name: string, layer: readonly Member[] | Buffer = []): Promise<Layout> {
    const path = join(folder, "layouts", name.replaceAll(/\W/g, "-"));
    const layers = Buffer.isBuffer(layer) ? [layer] : [[{ name: "case", body: name }, ...layer]];
    return new Layout(path, await hostileLayout(path, layers));
  }

  blob(digest: string): string {
    return join(this.path, "blobs/sha256", digest.slice("sha256:".length));
  }

  /** Stores bytes, if need be under a digest that is not theirs. */
  async put(text: string, digest = digestOfBytes(text)): Promise<Blob> {
    await writeFile(this.blob(digest), text);
    return { digest, size: Buffer.byteLength(text) };
  }

  /** What `latest` stands for from now on. */
  async tag(mediaType: string, blob: Blob): Promise<void> {
    const index = { schemaVersion: 2, manifests: [{ mediaType, ...blob, ...NAME }] };
    await writeFile(join(this.path, "index.json"), JSON.stringify(index));
  }

  index(mediaType: string, blob: Blob): string {
    return JSON.stringify({
      ...{ schemaVersion: 2, mediaType: INDEX },
      manifests: [{ mediaType, ...blob, ...HERE }],
    });
  }

  /** Another manifest than it had, and one that its digest is right for. */
  async change(change: (manifest: Manifest) => void): Promise<void> {
    const manifest: Manifest = JSON.parse(await readFile(this.blob(this.digest), "utf8"));
    change(manifest);
    await this.tag(MANIFEST, await this.put(JSON.stringify(manifest)));
  }
}

interface Manifest {
  config: Blob & { mediaType: string };
  layers: (Blob & { mediaType: string; urls?: string[] })[];
}

type Case = [what: string, why: RegExp, spoil: (layout: Layout) => Promise<void>];

const SHAPES: readonly Case[] = [
  [
    "an index that names itself",
    /manifest is not what its digest sha256:b+ says/,
    async (layout) => {
      await layout.put(layout.index(INDEX, { digest: B, size: 300 }), B);
      await layout.tag(INDEX, { digest: B, size: 300 });
    },
  ],
  [
    "two indexes that name each other",
    /does not match provided manifest digest sha256:a+/,
    async (layout) => {
      const first = await layout.put(layout.index(INDEX, { digest: A, size: 300 }));
      await layout.put(layout.index(INDEX, first), A);
      await layout.tag(INDEX, first);
    },
  ],
  [
    "an index in an index in an index",
    /manifest list instead of a manifest/,
    async (layout) => {
      let blob = { digest: layout.digest, size: 300 };
      for (const inner of [MANIFEST, INDEX, INDEX]) blob = await layout.put(layout.index(inner, blob));
      await layout.tag(INDEX, blob);
    },
  ],
  [
    "an index with another image's manifest under a good digest",
    /does not match provided manifest digest/,
    async (layout) => {
      const other = await Layout.of("the other image");
      const index = layout.index(MANIFEST, { digest: layout.digest, size: 300 });
      await layout.tag(INDEX, await layout.put(index));
      await layout.put(await readFile(other.blob(other.digest), "utf8"), layout.digest);
    },
  ],
  [
    "an index of 20,000 images for other machines",
    /no image found in image index/,
    async (layout) => {
      const elsewhere = { platform: { os: "linux", architecture: "mips" } };
      const one = { mediaType: MANIFEST, digest: layout.digest, size: 300, ...elsewhere };
      const manifests = Array.from({ length: 20_000 }, () => one);
      const index = JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests });
      await layout.tag(INDEX, await layout.put(index));
    },
  ],
  [
    "a manifest of 1 GiB",
    /manifest sha256:\w+ cannot be read/,
    (layout) => truncate(layout.blob(layout.digest), 2 ** 30),
  ],
  [
    "an index that names a manifest of 1 TiB",
    /manifest sha256:\w+ cannot be read: it is no file of at most \d+ bytes/,
    async (layout) => {
      const index = layout.index(MANIFEST, { digest: layout.digest, size: 300 });
      await layout.tag(INDEX, await layout.put(index));
      await truncate(layout.blob(layout.digest), 2 ** 40);
    },
  ],
  [
    "an index whose manifests have 80 MiB together",
    /manifests of its index have more than \d+ bytes/,
    async (layout) => {
      const blobs = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]
        .flatMap((high) => ["c", "d"].map((low) => high + low))
        .map((digits) => ({ mediaType: MANIFEST, digest: `sha256:${digits.repeat(32)}`, size: 1, ...HERE }));
      for (const { digest } of blobs) {
        await layout.put("", digest);
        await truncate(layout.blob(digest), 2 ** 22);
      }
      const index = JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests: blobs });
      await layout.tag(INDEX, await layout.put(index));
    },
  ],
  [
    "a configuration of 1 GiB",
    /./,
    async (layout) => {
      const manifest: Manifest = JSON.parse(await readFile(layout.blob(layout.digest), "utf8"));
      await truncate(layout.blob(manifest.config.digest), 2 ** 30);
    },
  ],
  [
    "a manifest that is a list",
    /cannot unmarshal array/,
    async (layout) => layout.tag(MANIFEST, await layout.put("[]")),
  ],
  ["a manifest that is null", /./, async (layout) => layout.tag(MANIFEST, await layout.put("null"))],
  [
    "a layer that says it is a text",
    /not correct mediatype: text\/plain/,
    (layout) =>
      layout.change(({ layers: [layer] }) => Object.assign(layer ?? {}, { mediaType: "text/plain" })),
  ],
  [
    "a configuration that says it is a picture",
    /not correct mediatype .*image\/png/,
    (layout) => layout.change(({ config }) => Object.assign(config, { mediaType: "image/png" })),
  ],
  [
    "a layer that is to be fetched from an address",
    /cannot unpack it/,
    (layout) =>
      layout.change(({ layers: [layer] }) =>
        Object.assign(layer ?? {}, {
          mediaType: "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
          urls: ["http://169.254.169.254/latest/meta-data"],
        }),
      ),
  ],
  [
    "a layer of 2^63 bytes",
    /cannot unmarshal number/,
    (layout) => layout.change(({ layers: [layer] }) => Object.assign(layer ?? {}, { size: 9.3e18 })),
  ],
  [
    "501 layers",
    /it has 501 layers, and at most 500 are unpacked/,
    (layout) =>
      layout.change((manifest) => {
        manifest.layers = Array.from({ length: 501 }, () => manifest.layers[0] as Manifest["layers"][number]);
      }),
  ],
  [
    "a layer more than its configuration knows of",
    /panic: .*out of range/,
    (layout) => layout.change(({ layers }) => layers.push(...layers)),
  ],
];

const LAYERS: readonly [what: string, why: RegExp, layer: readonly Member[] | Buffer][] = [
  ["a size beyond 64 bits", /invalid tar header/, [attributes({ size: "9".repeat(24) }), { name: "f" }]],
  ["a size below zero", /invalid tar header/, [attributes({ size: "-1" }), { name: "f", body: "x" }]],
  [
    "a size of terabytes, and a byte",
    /unexpected EOF/,
    [attributes({ size: String(2 ** 42) }), { name: "f", body: "x" }],
  ],
  [
    "attributes longer than they are",
    /invalid tar header/,
    [{ name: "a", type: "x", body: "999999999 path=x\n" }, { name: "f" }],
  ],
  ["a NUL in a path", /invalid tar header/, [attributes({ path: "a\0b" }), { name: "f" }]],
  [
    "an end in the middle of a file",
    /unexpected EOF/,
    layerOf([{ name: "f", body: "x".repeat(5000) }]).subarray(0, 1500),
  ],
  ["noise", /invalid tar header/, Buffer.from("noise".repeat(1000))],
];

test("an image of any shape that is none is refused with its name and why, and leaves nothing behind", async () => {
  const broken = LAYERS.map(
    ([what, why, layer]) => [`a layer with ${what}`, why, layer] as const satisfies readonly unknown[],
  );
  for (const [what, why, how] of sample([...SHAPES, ...broken], { everyday: 8 })) {
    const layout = await Layout.of(what, typeof how === "function" ? [] : how);
    if (typeof how === "function") await how(layout);
    await assert.rejects(
      images.pull(`oci:${layout.path}`, {}),
      (error: Error) => {
        assert.ok(error.message.startsWith(`cannot get oci:${layout.path}:latest: `), what);
        assert.match(error.message, why, what);
        return true;
      },
      what,
    );
    const left = await readdir(join(CACHE, "unpacked")).catch(() => []);
    assert.deepEqual([...left, ...(await incoming())], [], what);
  }
});

async function incoming(): Promise<string[]> {
  return (await readdir(CACHE)).filter((name) => name.startsWith("incoming-"));
}
