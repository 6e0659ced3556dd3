// An OCI image layout with one layer, as one tar: the same bytes from the same files.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { settleModes } from "../release/pack.mjs";

const execute = promisify(execFile);
const OCI = "application/vnd.oci.image";
/** The date of everything in it: what is inside shows what it is, not when it was packed. */
const EPOCH = Number(process.env.SOURCE_DATE_EPOCH ?? 0);
const STEADY = [
  "--sort=name",
  `--mtime=@${EPOCH}`,
  "--owner=0",
  "--group=0",
  "--numeric-owner",
  "--format=ustar",
];

async function sha256(path) {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest("hex");
}

/** `root`: a folder with the file system; `name`: NAME:TAG; `file`: the archive that is written. */
export async function writeArchive({ root, work, name, file, entrypoint = ["/usr/bin/mooring"] }) {
  const layout = join(work, "layout");
  const blobs = join(layout, "blobs", "sha256");
  await mkdir(blobs, { recursive: true });
  const layer = join(work, "layer.tar");
  await execute("tar", [...STEADY, "-cf", layer, "-C", root, "."]);
  const digest = await sha256(layer);
  const { size } = await stat(layer);
  await rename(layer, join(blobs, digest));
  const put = async (content, mediaType) => {
    const text = JSON.stringify(content);
    const hash = createHash("sha256").update(text).digest("hex");
    await writeFile(join(blobs, hash), text);
    return { mediaType, digest: `sha256:${hash}`, size: Buffer.byteLength(text) };
  };
  const created = new Date(EPOCH * 1000).toISOString();
  const config = await put(
    {
      ...{ created, architecture: process.arch === "arm64" ? "arm64" : "amd64", os: "linux" },
      config: {
        Env: ["PATH=/usr/sbin:/usr/bin:/bin", "NODE_ENV=production"],
        Entrypoint: entrypoint,
        Labels: {
          "org.opencontainers.image.title": name.split("/").at(-1)?.split(":")[0] ?? name,
          "org.opencontainers.image.licenses": "Apache-2.0",
        },
      },
      rootfs: { type: "layers", diff_ids: [`sha256:${digest}`] },
      history: [{ created, created_by: "scripts/image.mjs" }],
    },
    `${OCI}.config.v1+json`,
  );
  const layers = [{ mediaType: `${OCI}.layer.v1.tar`, digest: `sha256:${digest}`, size }];
  const manifest = await put(
    { schemaVersion: 2, mediaType: `${OCI}.manifest.v1+json`, config, layers },
    `${OCI}.manifest.v1+json`,
  );
  const annotations = {
    "io.containerd.image.name": name,
    "org.opencontainers.image.ref.name": name.split(":").at(-1),
  };
  const index = {
    schemaVersion: 2,
    mediaType: `${OCI}.index.v1+json`,
    manifests: [{ ...manifest, annotations }],
  };
  await writeFile(join(layout, "index.json"), JSON.stringify(index));
  await writeFile(join(layout, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
  await settleModes(layout);
  await execute("tar", [...STEADY, "-cf", file, "-C", layout, "."]);
}
