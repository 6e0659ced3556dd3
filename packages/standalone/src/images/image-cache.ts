import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { failpoint, KeyedLock, syncFolder } from "@mooring/store";
import { type ImageConfig, parseImageConfig } from "./image-config.ts";

/** An image whose root file system is on this machine. */
export interface Image {
  /** Absent: the machine's own. */
  root?: string;
  /** What the API shows as imageID. */
  id: string;
  config: ImageConfig;
}

/**
 * Unpacked images by digest, `unpacked/HEX/rootfs`, and what digest each name had when it was last asked for, `names/`.
 * `incoming-*` contains what is not complete; the process that opens the cache removes it.
 */
export interface ImageCache {
  /** Digest that the name had when it was last brought here, if that image is still here. */
  known(name: string): Promise<string | undefined>;
  open(digest: string): Promise<{ root: string; config: ImageConfig } | undefined>;
  /**
   * From now on the name stands for this digest. Where its image is not here, `fill` gets an empty folder, puts `rootfs` into
   * it and returns the image's configuration. Then images that no name stands for any more are removed, but for those whose
   * root is in use.
   */
  add(
    named: NamedImage,
    fill: (folder: string) => Promise<string>,
    inUse: () => Iterable<string>,
  ): Promise<void>;
}

interface NamedImage {
  name: string;
  digest: string;
}

const unpackedImage = failpoint("standalone/images/unpacked");

/** Opens the folder of unpacked images. What an interrupted pull has left is taken away. */
export async function openImageCache(folder: string): Promise<ImageCache> {
  const names = join(folder, "names");
  const unpacked = join(folder, "unpacked");
  for (const each of [folder, names, unpacked]) await mkdir(each, { recursive: true, mode: 0o700 });
  for (const name of await readdir(folder))
    if (name.startsWith("incoming-")) await rm(join(folder, name), { recursive: true, force: true });
  const hexOf = (digest: string) => digest.slice("sha256:".length);
  const placeOf = (digest: string) => join(unpacked, hexOf(digest));
  const noteOf = (name: string) => join(names, createHash("sha256").update(name).digest("hex"));

  const lock = new KeyedLock();

  /** Returns a folder that has everything of the image, on disk. */
  async function fetch(fill: (folder: string) => Promise<string>): Promise<string> {
    const incoming = await mkdtemp(join(folder, "incoming-"));
    try {
      const config = await fill(incoming);
      parseImageConfig(config);
      await rm(join(incoming, "layout"), { recursive: true, force: true });
      await writeFile(join(incoming, "config.json"), config, { flush: true });
      await syncFolder(incoming);
      unpackedImage();
      return incoming;
    } catch (error) {
      await rm(incoming, { recursive: true, force: true });
      throw error;
    }
  }

  async function putInPlace(incoming: string | undefined, digest: string): Promise<void> {
    if (incoming === undefined) throw new Error("the image was removed while it was being read");
    // Without its configuration, which goes first of all, it counts for nothing.
    await rm(placeOf(digest), { recursive: true, force: true });
    await rename(incoming, placeOf(digest));
    await syncFolder(unpacked);
  }

  async function note(name: string, digest: string): Promise<void> {
    if ((await readNote(noteOf(name))) === digest) return;
    const path = noteOf(name);
    await writeFile(`${path}.new`, JSON.stringify({ name, digest }), { flush: true });
    await rename(`${path}.new`, path);
    await syncFolder(names);
  }

  async function prune(rootsInUse: ReadonlySet<string>): Promise<void> {
    const noted = await Promise.all((await readdir(names)).map((name) => readNote(join(names, name))));
    const wanted = new Set(noted.filter((digest) => digest !== undefined).map(hexOf));
    for (const hex of await readdir(unpacked)) {
      const place = join(unpacked, hex);
      if (wanted.has(hex) || rootsInUse.has(join(place, "rootfs"))) continue;
      // First: what is half removed must not be taken for an image.
      await rm(join(place, "config.json"), { force: true });
      await rm(place, { recursive: true, force: true });
    }
  }

  const cache: ImageCache = {
    async known(name) {
      const digest = await readNote(noteOf(name));
      return digest !== undefined && (await cache.open(digest)) !== undefined ? digest : undefined;
    },
    async open(digest) {
      const place = placeOf(digest);
      const text = await textIfAny(join(place, "config.json"));
      return text === undefined ? undefined : { root: join(place, "rootfs"), config: parseImageConfig(text) };
    },
    async add({ name, digest }, fill, inUse) {
      const incoming = (await cache.open(digest)) === undefined ? await fetch(fill) : undefined;
      try {
        // No clean-up removes what another pull is about to give a name.
        await lock.run("", async () => {
          if ((await cache.open(digest)) === undefined) await putInPlace(incoming, digest);
          await note(name, digest);
          await prune(new Set(inUse()));
        });
      } finally {
        if (incoming !== undefined) await rm(incoming, { recursive: true, force: true });
      }
    },
  };
  return cache;
}

/** Throws for a note that cannot be read: its image would be taken for one that no name stands for. */
async function readNote(path: string): Promise<string | undefined> {
  const text = (await textIfAny(path)) ?? "";
  try {
    const { digest } = JSON.parse(text);
    return /^sha256:[0-9a-f]{64}$/.test(digest) ? digest : undefined;
  } catch {
    return undefined;
  }
}

async function textIfAny(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
}
