import { mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { majorMinor } from "@mooring/engine";
import type { ContainerFiles } from "./container-files.ts";
import { type OciProcess, type OciSpec, ociSpec, type Sandbox } from "./oci/spec.ts";
import type { ContainerConfig } from "./runtime.ts";

/** Makes the folder that runc starts a container from, anew when it is there. */
export async function writeBundle(
  { bundle }: ContainerFiles,
  config: ContainerConfig,
  sandbox: Omit<Sandbox, "devices">,
): Promise<void> {
  const devices = await Promise.all(
    config.devices.map(async ({ source }) => {
      const [major = 0, minor = 0] = majorMinor((await stat(source)).rdev)
        .split(":")
        .map(Number);
      return { major, minor };
    }),
  );
  await rm(bundle, { recursive: true, force: true });
  await mkdir(bundle, { recursive: true, mode: 0o700 });
  const spec = JSON.stringify(ociSpec(config, { ...sandbox, devices }));
  await writeFile(join(bundle, "config.json"), spec, { mode: 0o600 });
}

/** How the container's own program was started. */
export async function readProcess(bundle: string): Promise<OciProcess> {
  const spec: OciSpec = JSON.parse(await readFile(join(bundle, "config.json"), "utf8"));
  return spec.process;
}
