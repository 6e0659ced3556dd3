import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const BLOCK = 512;
const MANIFEST = "application/vnd.oci.image.manifest.v1+json";

/** One member of a layer, as an archive may have it and no program would write it. */
export interface Member {
  /** Bytes as they are: not cleaned. */
  name: string;
  /**
   * Of tar: `0` file, `1` hard link, `2` symbolic link, `3` and `4` devices, `5` folder, `6` FIFO, `x` attributes, `S`
   * sparse.
   */
  type?: string;
  link?: string;
  mode?: number;
  body?: string;
  /** Bytes that it claims to have when it is sparse: all of them a hole. */
  realSize?: number;
  device?: { major: number; minor: number };
}

/** An uncompressed tar archive. Long names and links get an attribute of their own in front. */
export function layerOf(members: readonly Member[]): Buffer {
  return Buffer.concat([...members.flatMap(blocksOf), Buffer.alloc(2 * BLOCK)]);
}

/** Attributes of the next member: `SCHILY.xattr.trusted.overlay.redirect=/`. */
export function attributes(named: Readonly<Record<string, string>>): Member {
  const body = Object.entries(named).map(([name, value]) => record(name, value));
  return { name: "attributes", type: "x", body: body.join("") };
}

/** A file that has this size and, by its attributes, one hole. */
export function sparse(name: string, size: number): readonly Member[] {
  const hole = {
    "GNU.sparse.size": String(size),
    "GNU.sparse.numblocks": "1",
    "GNU.sparse.map": `${size},0`,
  };
  return [attributes(hole), { name }];
}

function record(name: string, value: string): string {
  const rest = ` ${name}=${value}\n`;
  let length = Buffer.byteLength(rest);
  while (String(length).length + Buffer.byteLength(rest) !== length)
    length = String(length).length + Buffer.byteLength(rest);
  return `${length}${rest}`;
}

function blocksOf(member: Member): Buffer[] {
  const { name, link = "" } = member;
  const long: Member[] = [];
  if (Buffer.byteLength(name) > 100) long.push(attributes({ path: name }));
  if (Buffer.byteLength(link) > 100) long.push(attributes({ linkpath: link }));
  return [...long.flatMap(blocksOf), headerOf(member), padded(Buffer.from(member.body ?? ""))];
}

function headerOf({
  name,
  type = "0",
  link = "",
  mode = 0o644,
  body = "",
  realSize,
  device,
}: Member): Buffer {
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, length: number) =>
    header.write(value.toString(8).padStart(length - 1, "0"), at, length - 1);
  header.write(name, 0, 100);
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(Buffer.byteLength(body), 124, 12);
  octal(0, 136, 12);
  header.write(type, 156);
  header.write(link, 157, 100);
  if (type === "S") {
    header.write("ustar  \0", 257, "latin1");
    // One piece of nothing at the end (GNU tar's old format): all before it is a hole.
    octal(realSize ?? 0, 386, 12);
    octal(0, 398, 12);
    octal(realSize ?? 0, 483, 12);
  } else {
    header.write("ustar\0" + "00", 257, "latin1");
    octal(device?.major ?? 0, 329, 8);
    octal(device?.minor ?? 0, 337, 8);
  }
  header.fill(" ", 148, 156);
  octal(
    header.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  );
  return header;
}

function padded(body: Buffer): Buffer {
  return Buffer.concat([body, Buffer.alloc((BLOCK - (body.length % BLOCK)) % BLOCK)]);
}

export const digestOfBytes = (bytes: Buffer | string): string =>
  `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

/** What is wrong with a layout besides its layers. */
export interface Flaws {
  /** Of the image configuration, instead of a good one; an object, or its text. */
  config?: unknown;
  /** What the index says instead of the manifest. */
  manifests?: readonly unknown[];
  /** Bytes that are stored instead of a blob's, by what it is. */
  stored?: Partial<Record<"manifest" | "config" | "layer", string>>;
}

/** Writes an OCI image layout with these layers under the tag `latest`. Returns the manifest's digest. */
export async function hostileLayout(
  layout: string,
  layers: readonly (readonly Member[] | Buffer)[],
  { config = { config: {} }, manifests, stored = {} }: Flaws = {},
): Promise<string> {
  const blobs = join(layout, "blobs/sha256");
  await mkdir(blobs, { recursive: true });
  const put = async (bytes: Buffer | string, kind: keyof NonNullable<Flaws["stored"]>) => {
    const digest = digestOfBytes(bytes);
    await writeFile(join(blobs, digest.slice("sha256:".length)), stored[kind] ?? bytes);
    return { digest, size: Buffer.byteLength(bytes) };
  };
  const made = [];
  const plain: string[] = [];
  for (const layer of layers) {
    const bytes = Buffer.isBuffer(layer) ? layer : layerOf(layer as readonly Member[]);
    plain.push(digestOfBytes(bytes));
    const mediaType = "application/vnd.oci.image.layer.v1.tar+gzip";
    made.push({ mediaType, ...(await put(gzipSync(bytes), "layer")) });
  }
  const complete =
    typeof config === "string"
      ? config
      : JSON.stringify({
          ...{ architecture: "amd64", os: "linux", rootfs: { type: "layers", diff_ids: plain } },
          ...(config as object),
        });
  const configType = "application/vnd.oci.image.config.v1+json";
  const manifest = JSON.stringify({
    ...{ schemaVersion: 2, mediaType: MANIFEST },
    config: { mediaType: configType, ...(await put(complete, "config")) },
    layers: made,
  });
  const annotations = { "org.opencontainers.image.ref.name": "latest" };
  const described = { mediaType: MANIFEST, ...(await put(manifest, "manifest")), annotations };
  await writeFile(join(layout, "oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
  const index = { schemaVersion: 2, manifests: manifests ?? [described] };
  await writeFile(join(layout, "index.json"), JSON.stringify(index));
  return described.digest;
}
