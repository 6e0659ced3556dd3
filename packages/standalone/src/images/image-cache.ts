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
  const cache = new FolderCache(folder);
  for (const each of [folder, cache.names, cache.unpacked])
    await mkdir(each, { recursive: true, mode: 0o700 });
  for (const name of await readdir(folder))
    if (name.startsWith("incoming-")) await rm(join(folder, name), { recursive: true, force: true });
  return cache;
}

class FolderCache implements ImageCache {
  readonly names: string;
  readonly unpacked: string;
  readonly #folder: string;
  readonly #lock = new KeyedLock();

  constructor(folder: string) {
    this.#folder = folder;
    this.names = join(folder, "names");
    this.unpacked = join(folder, "unpacked");
  }

  async known(name: string): Promise<string | undefined> {
    const digest = await readNote(this.#noteOf(name));
    return digest !== undefined && (await this.open(digest)) !== undefined ? digest : undefined;
  }

  async open(digest: string): Promise<{ root: string; config: ImageConfig } | undefined> {
    const place = this.#placeOf(digest);
    const text = await textIfAny(join(place, "config.json"));
    return text === undefined ? undefined : { root: join(place, "rootfs"), config: parseImageConfig(text) };
  }

  async add(
    { name, digest }: NamedImage,
    fill: (folder: string) => Promise<string>,
    inUse: () => Iterable<string>,
  ): Promise<void> {
    const incoming = (await this.open(digest)) === undefined ? await this.#fetch(fill) : undefined;
    try {
      // No clean-up removes what another pull is about to give a name.
      await this.#lock.run("", async () => {
        if ((await this.open(digest)) === undefined) await this.#putInPlace(incoming, digest);
        await this.#note(name, digest);
        await this.#prune(new Set(inUse()));
      });
    } finally {
      if (incoming !== undefined) await rm(incoming, { recursive: true, force: true });
    }
  }

  /** Returns a folder that has everything of the image, on disk. */
  async #fetch(fill: (folder: string) => Promise<string>): Promise<string> {
    const incoming = await mkdtemp(join(this.#folder, "incoming-"));
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

  async #putInPlace(incoming: string | undefined, digest: string): Promise<void> {
    if (incoming === undefined) throw new Error("the image was removed while it was being read");
    const place = this.#placeOf(digest);
    // Without its configuration, which goes first of all, it counts for nothing.
    await rm(place, { recursive: true, force: true });
    await rename(incoming, place);
    await syncFolder(this.unpacked);
  }

  async #note(name: string, digest: string): Promise<void> {
    const path = this.#noteOf(name);
    if ((await readNote(path)) === digest) return;
    await writeFile(`${path}.new`, JSON.stringify({ name, digest }), { flush: true });
    await rename(`${path}.new`, path);
    await syncFolder(this.names);
  }

  async #prune(rootsInUse: ReadonlySet<string>): Promise<void> {
    const notes = await readdir(this.names);
    const noted = await Promise.all(notes.map((name) => readNote(join(this.names, name))));
    const wanted = new Set(noted.filter((digest) => digest !== undefined).map(hexOf));
    for (const hex of await readdir(this.unpacked)) {
      const place = join(this.unpacked, hex);
      if (wanted.has(hex) || rootsInUse.has(join(place, "rootfs"))) continue;
      // First: what is half removed must not be taken for an image.
      await rm(join(place, "config.json"), { force: true });
      await rm(place, { recursive: true, force: true });
    }
  }

  #placeOf(digest: string): string {
    return join(this.unpacked, hexOf(digest));
  }

  #noteOf(name: string): string {
    return join(this.names, createHash("sha256").update(name).digest("hex"));
  }
}

function hexOf(digest: string): string {
  return digest.slice("sha256:".length);
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
