import { createHash, randomBytes } from "node:crypto";
import { chmod, mkdir, readdir, readlink, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
import { nextSlice, sliceLasts } from "@mooring/store";

/** Files of a volume that is made of API objects, by path relative to the volume. */
export type ProjectedFiles = Map<string, { data: Buffer; mode: number }>;

/** Equal for equal files. A hash: the files may be secrets. */
export async function fingerprintOf(files: ProjectedFiles): Promise<string> {
  const hash = createHash("sha256");
  for (const [path, { data, mode }] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (!sliceLasts()) await nextSlice();
    hash.update(`${JSON.stringify(path)} ${mode} ${data.length}\n`).update(data);
  }
  return hash.digest("hex");
}

/**
 * Writes all files at once: they are made in a hidden folder, and a link is switched to it. A reader sees the old
 * ones or the new ones, never some of each; the same layout as in Kubernetes. `finish`: before the container sees them.
 */
export async function writeProjectedFiles(
  folder: string,
  files: ProjectedFiles,
  finish: (made: string) => Promise<void> = async () => {},
): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o755 });
  await chmod(folder, 0o755);
  const version = `..${randomBytes(8).toString("hex")}`;
  for (const [path, { data, mode }] of files) {
    const file = join(folder, version, safe(path));
    await mkdir(dirname(file), { recursive: true, mode: 0o755 });
    await writeFile(file, data);
    await chmod(file, mode);
  }
  await mkdir(join(folder, version), { recursive: true });
  await finish(join(folder, version));
  const old = await readlink(join(folder, "..data")).catch(() => undefined);
  // A kill between the next two leaves the first one's work behind.
  await rm(join(folder, "..data.new"), { force: true });
  await symlink(version, join(folder, "..data.new"));
  await rename(join(folder, "..data.new"), join(folder, "..data"));
  const wanted = new Set([...files.keys()].map((path) => safe(path).split("/")[0] ?? ""));
  for (const name of await readdir(folder)) {
    if (!name.startsWith("..") && !wanted.has(name)) await rm(join(folder, name), { recursive: true });
    wanted.delete(name);
  }
  for (const name of wanted) await symlink(join("..data", name), join(folder, name));
  if (old !== undefined && old !== version) await rm(join(folder, old), { recursive: true, force: true });
}

/** A path that stays where it is put. Throws on one that would leave the volume. */
function safe(path: string): string {
  const normal = normalize(path);
  if (normal.startsWith("/") || normal === ".." || normal.startsWith("../") || normal.startsWith("..")) {
    throw new Error(`path ${path} leaves its volume`);
  }
  return normal;
}
