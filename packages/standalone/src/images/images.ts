import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Host } from "@mooring/engine";
import { type Image, type ImageCache, openImageCache } from "./image-cache.ts";
import { imageFolder } from "./image-folder.ts";
import { digestOf, fetchImage, nameOf } from "./pull.ts";
import { type ImageReference, parseImage } from "./reference.ts";

/** `imagePullPolicy`: when a registry is asked, although the image may be here. */
export type PullPolicy = "Always" | "IfNotPresent" | "Never";

interface ImagesOptions {
  host: Host;
  /** For `names/` and `unpacked/`; on disk. */
  folder: string;
  /** Credentials are here while they are used; in memory. */
  secrets: string;
  /** Folders that no container may see. */
  hidden(): Promise<readonly string[]>;
  /** Roots of images that containers run from. */
  inUse(): Iterable<string>;
  signal: AbortSignal;
}

/** The policy forbids to pull it, and it is not here. */
export class ImageNeverPull extends Error {}

/** Credentials of registries: `auths` of a `.dockerconfigjson`. */
export type RegistryAuths = Readonly<Record<string, unknown>>;

/**
 * The images that containers of this node start from: found here, or pulled. Everybody who needs the same one waits for one
 * pull.
 */
export class Images {
  readonly #options: ImagesOptions;
  readonly #cache: Promise<ImageCache>;
  /** Under way, by name and credentials: who asks for the same waits for the same. */
  readonly #pulls = new Map<string, Promise<Image>>();

  constructor(options: ImagesOptions) {
    this.#options = options;
    this.#cache = openCache(options);
    this.#cache.catch(() => {});
  }

  /**
   * The image that a container is to start from, as far as it is here and need not be asked for elsewhere. Throws
   * InvalidImageName, {@link ImageNeverPull}, or what is wrong with a folder.
   */
  async here(text: string, policy: PullPolicy): Promise<Image | undefined> {
    const image = parseImage(text);
    if (image.kind === "host") return { id: "host", config: {} };
    if (image.kind === "folder") {
      const root = await imageFolder(image.path, await this.#options.hidden());
      return { root, id: `dir:${root}`, config: {} };
    }
    if (policy === "Always") return undefined;
    const cache = await this.#cache;
    const digest = await cache.known(nameOf(image));
    if (digest !== undefined) return imageOf(cache, image, digest);
    if (policy === "IfNotPresent") return undefined;
    throw new ImageNeverPull(
      `image "${text}" is not on this machine, and imagePullPolicy: Never leaves it so`,
    );
  }

  /** Asks what the name stands for now, brings that here where it is not, and returns it. */
  async pull(text: string, auths: RegistryAuths): Promise<Image> {
    const image = parseImage(text);
    if (image.kind === "host" || image.kind === "folder")
      throw new Error(`${text} is not in a registry, and cannot be pulled`);
    return this.#pullOnce(image, auths);
  }

  #pullOnce(image: Remote, auths: RegistryAuths): Promise<Image> {
    const key = createHash("sha256")
      .update(JSON.stringify([nameOf(image), auths]))
      .digest("hex");
    const running = this.#pulls.get(key);
    if (running !== undefined) return running;
    const pull = this.#pull(image, auths).finally(() => this.#pulls.delete(key));
    this.#pulls.set(key, pull);
    return pull;
  }

  /** A layout below a folder that no container may see is another pod's, or the machine's. */
  async #sourceOf(image: Remote): Promise<Remote> {
    if (image.kind === "registry") return image;
    return { ...image, path: await imageFolder(image.path, await this.#options.hidden()) };
  }

  async #pull(image: Remote, auths: RegistryAuths): Promise<Image> {
    const { host, secrets, signal, inUse } = this.#options;
    const cache = await this.#cache;
    const folder = await mkdtemp(join(secrets, "registry-"));
    try {
      const authFile = join(folder, "auth.json");
      await writeFile(authFile, JSON.stringify({ auths }), { mode: 0o600 });
      const options = { exec: host.exec, authFile, signal };
      const source = await this.#sourceOf(image);
      const digest = await digestOf(source, options);
      const fill = (place: string) => fetchImage(source, digest, place, options);
      await cache.add({ name: nameOf(image), digest }, fill, inUse);
      return await imageOf(cache, image, digest);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
}

type Remote = Extract<ImageReference, { kind: "layout" | "registry" }>;

async function openCache({ folder, secrets }: ImagesOptions): Promise<ImageCache> {
  await rm(secrets, { recursive: true, force: true });
  await mkdir(secrets, { recursive: true, mode: 0o700 });
  return openImageCache(folder);
}

async function imageOf(cache: ImageCache, image: Remote, digest: string): Promise<Image> {
  const found = await cache.open(digest);
  if (found === undefined) throw new Error(`${nameOf(image)} was removed while it was being read`);
  const name = image.kind === "layout" ? nameOf(image) : image.name;
  return { ...found, id: `${name}@${digest}` };
}
