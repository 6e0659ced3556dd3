import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { mkdir, open, readdir, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

const HEX = /^[0-9a-f]{64}$/;
const MANIFEST_BYTES = 4 * 1024 * 1024;
/** All manifests that an index names, together. */
const INDEX_BYTES = 16 * MANIFEST_BYTES;
const INDEX = "application/vnd.oci.image.index.v1+json";
const MANIFEST = "application/vnd.oci.image.manifest.v1+json";

/** Other runtimes stack each layer as a file system of its own, and take 127 or fewer. */
const MOST_LAYERS = 500;

const TAG = "org.opencontainers.image.ref.name";

/**
 * Digest of what the tag stands for in the layout at `path`. skopeo would read an index of any length, and wait for ever where it
 * is a pipe: whoever writes the layout need not be who asks for it.
 */
export async function taggedDigest(path: string, tag: string): Promise<string> {
  const text = await readPlain(join(path, "index.json")).catch((cause: Error) => {
    throw new Error(`its index.json cannot be read: ${cause.message}`, { cause });
  });
  const { manifests } = (readJson(text, "index.json") ?? {}) as { manifests?: unknown };
  const described: { digest?: unknown; annotations?: Record<string, unknown> }[] = Array.isArray(manifests)
    ? manifests.filter((each) => typeof each === "object" && each !== null)
    : [];
  const found = described.find(({ annotations }) => annotations?.[TAG] === tag);
  if (found === undefined) throw new Error(`its index.json has no tag ${tag}`);
  const digest = String(found.digest);
  if (!digest.startsWith("sha256:") || !HEX.test(digest.slice("sha256:".length)))
    throw new Error(`its tag ${tag} has no sha256 digest`);
  return digest;
}

/**
 * A layout in `folder` with one image, `image`, whose manifest has this digest; its blobs are those of the layout at `path`.
 * skopeo compares every blob with what the manifest says, and takes the manifest of a layout as it finds it: here it is
 * compared, so that nothing else gets this digest's name, whatever becomes of the tag meanwhile. What is no plain file is left out:
 * skopeo would wait for a pipe. The manifests that an index names are copied, as skopeo reads one of any length into its memory.
 */
export async function pinLayout(path: string, digest: string, folder: string): Promise<void> {
  const hex = digest.slice("sha256:".length);
  const source = join(path, "blobs/sha256");
  const manifest = await readPlain(join(source, hex)).catch((cause: unknown) => {
    throw new Error(`its manifest ${digest} cannot be read`, { cause });
  });
  if (createHash("sha256").update(manifest).digest("hex") !== hex)
    throw new Error(`its manifest is not what its digest ${digest} says`);
  requireFewLayers(manifest);
  const blobs = join(folder, "blobs/sha256");
  await mkdir(blobs, { recursive: true });
  await writeFile(join(blobs, hex), manifest);
  const copied = new Set([hex, ...namedManifests(manifest)]);
  let room = INDEX_BYTES;
  for (const name of await readdir(source)) {
    if (!HEX.test(name) || name === hex || !(await isPlain(join(source, name)))) continue;
    if (!copied.has(name)) {
      await symlink(join(source, name), join(blobs, name));
      continue;
    }
    const bytes = await readPlain(join(source, name)).catch((cause: Error) => {
      throw new Error(`its manifest sha256:${name} cannot be read: ${cause.message}`, { cause });
    });
    room -= bytes.length;
    requireFewLayers(bytes);
    if (room < 0) throw new Error(`the manifests of its index have more than ${INDEX_BYTES} bytes`);
    await writeFile(join(blobs, name), bytes);
  }
  await writeFile(join(folder, "oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
  const annotations = { [TAG]: "image" };
  const described = { mediaType: typeOf(manifest), digest, size: manifest.length, annotations };
  await writeFile(join(folder, "index.json"), JSON.stringify({ schemaVersion: 2, manifests: [described] }));
}

function typeOf(manifest: Buffer): string {
  const { mediaType, manifests } = (readJson(manifest, "manifest") ?? {}) as Record<string, unknown>;
  if (typeof mediaType === "string") return mediaType;
  return manifests === undefined ? MANIFEST : INDEX;
}

/** Each layer of some bytes costs its copy and its unpacking seconds of a busy machine. Throws. */
export function requireFewLayers(manifest: Buffer): void {
  const { layers } = (jsonIfAny(manifest) ?? {}) as { layers?: unknown };
  if (Array.isArray(layers) && layers.length > MOST_LAYERS)
    throw new Error(`it has ${layers.length} layers, and at most ${MOST_LAYERS} are unpacked`);
}

/** What is none belongs to another machine's image, or skopeo says so. */
function jsonIfAny(text: Buffer): unknown {
  try {
    return JSON.parse(text.toString("utf8"));
  } catch {
    return undefined;
  }
}

/** Digests, without their algorithm, of what an index names; of a manifest, none. */
function namedManifests(manifest: Buffer): string[] {
  const { manifests } = (readJson(manifest, "manifest") ?? {}) as { manifests?: unknown };
  if (!Array.isArray(manifests)) return [];
  return manifests.map((each: { digest?: unknown } | null) => String(each?.digest).replace(/^sha256:/, ""));
}

/** A failure of the parser would repeat bytes of a file that may be another's. */
function readJson(text: Buffer, what: string): unknown {
  try {
    return JSON.parse(text.toString("utf8"));
  } catch {
    throw new Error(`its ${what} is no JSON`);
  }
}

async function isPlain(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

/** The maker of the layout may have put a pipe there. */
async function readPlain(path: string): Promise<Buffer> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stat = await file.stat();
    if (!stat.isFile() || stat.size > MANIFEST_BYTES)
      throw new Error(`it is no file of at most ${MANIFEST_BYTES} bytes`);
    return await file.readFile();
  } finally {
    await file.close();
  }
}
