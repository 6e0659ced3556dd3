import { access, chmod, mkdir, readdir, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { eventually } from "@mooring/store/testing";

/**
 * Programs of the system that wait, in every process that has `path` as its PATH, until the test lets them go on: so
 * that an operation of the driver can be met in its middle.
 */
export interface Gate {
  path: string;
  /** Resolves when a call waits at the gate. */
  reached(): Promise<void>;
  open(): Promise<void>;
}

async function programPath(name: string): Promise<string> {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    const path = join(folder, name);
    if (
      await access(path).then(
        () => true,
        () => false,
      )
    )
      return path;
  }
  throw new Error(`there is no ${name} on this machine`);
}

export async function gate(folder: string, ...programs: string[]): Promise<Gate> {
  const bin = join(folder, "bin");
  const waiting = join(folder, "waiting");
  const opened = join(folder, "opened");
  await mkdir(bin, { recursive: true });
  await mkdir(waiting);
  for (const name of programs) {
    const script = `#!/bin/sh
touch ${waiting}/$$
while ! [ -e ${opened} ]; do sleep 0.05; done
exec ${await programPath(name)} "$@"
`;
    await writeFile(join(bin, name), script);
    await chmod(join(bin, name), 0o755);
  }
  return {
    path: `${bin}${delimiter}${process.env.PATH}`,
    reached: async () => {
      await eventually("a program to wait at the gate", async () => (await readdir(waiting)).length > 0);
    },
    open: () => writeFile(opened, ""),
  };
}
