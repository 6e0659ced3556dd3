import { execFile } from "node:child_process";
import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export const RUNC = "/usr/sbin/runc";

/** Has runc forget a container that has ended, and its control groups; kills what runs of it. One it never knew is fine. */
export async function deleteContainer(root: string, id: string): Promise<void> {
  const folder = join(root, id);
  const known = await stat(folder).catch(() => undefined);
  if (known === undefined) return;
  try {
    await run(RUNC, ["--root", root, "delete", "--force", id], { timeout: 30_000 });
  } finally {
    // Of a start that was killed before it had written its state.
    await rm(folder, { recursive: true, force: true });
  }
}
