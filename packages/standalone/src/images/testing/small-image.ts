import { execFile } from "node:child_process";
import { copyFile, mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const APPLETS = ["sh", "cat", "echo", "env", "head", "id", "ls", "mount", "pwd", "sleep", "touch", "wc"];

/** A root file system of one static program under its many names, and of these files. */
export async function smallRoot(root: string, files: Readonly<Record<string, string>> = {}): Promise<string> {
  await mkdir(join(root, "bin"), { recursive: true });
  await copyFile("/bin/busybox", join(root, "bin/busybox"));
  for (const applet of APPLETS) await symlink("busybox", join(root, "bin", applet));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  return root;
}

/** `--config.entrypoint` and the like, as umoci has them: each once or more often. */
export type ImageSettings = Readonly<Record<string, string | readonly string[]>>;

/** Adds an image of this root to an OCI image layout, which is made where there is none. */
export async function addImage(
  layout: string,
  tag: string,
  root: string,
  settings: ImageSettings = {},
): Promise<void> {
  await run("umoci", ["init", "--layout", layout]).catch(() => {});
  const image = ["--image", `${layout}:${tag}`];
  await run("umoci", ["new", ...image]);
  await run("umoci", ["insert", ...image, root, "/"]);
  const asked = Object.entries(settings).flatMap(([name, values]) =>
    [values].flat().map((value) => `--config.${name}=${value}`),
  );
  await run("umoci", ["config", ...image, ...asked]);
}
