import { constants } from "node:fs";
import { access, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Exec } from "@mooring/engine";

/** What AppArmor can do here. */
export interface AppArmor {
  enabled: boolean;
  /** Names of the profiles that the kernel has. */
  profiles: ReadonlySet<string>;
  /** Profiles can be loaded. */
  canLoad: boolean;
}

const PARSERS = ["/sbin/apparmor_parser", "/usr/sbin/apparmor_parser"];

/** Reads it from the kernel; `sys`: where sysfs is. */
export async function appArmorHere(sys = "/sys"): Promise<AppArmor> {
  const enabled = await readFile(join(sys, "module/apparmor/parameters/enabled"), "utf8").catch(() => "N");
  if (enabled.trim() !== "Y") return { enabled: false, profiles: new Set(), canLoad: false };
  const list = await readFile(join(sys, "kernel/security/apparmor/profiles"), "utf8").catch(() => "");
  const names = list.split("\n").flatMap((line) => /^(.+) \(\w+\)$/.exec(line)?.[1] ?? []);
  return { enabled: true, profiles: new Set(names), canLoad: (await parser()) !== undefined };
}

async function parser(): Promise<string | undefined> {
  for (const path of PARSERS) {
    if (
      await access(path, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return path;
  }
  return undefined;
}

/** What `RuntimeDefault` is called in the kernel. */
export const DEFAULT_PROFILE = "mooring-default";

/**
 * What a container may do under `RuntimeDefault`: everything that its capabilities and namespaces allow, but mount, write the
 * machine's settings, and follow or signal programs outside of it.
 */
export const DEFAULT_PROFILE_TEXT = `
profile ${DEFAULT_PROFILE} flags=(attach_disconnected,mediate_deleted) {
  file,
  network,
  capability,
  umount,
  deny mount,
  signal (receive) peer=unconfined,
  signal (send, receive) peer=${DEFAULT_PROFILE},
  ptrace (trace, read, tracedby, readby) peer=${DEFAULT_PROFILE},
  deny /proc/sys/** wklx,
  deny /proc/sysrq-trigger rwklx,
  deny /proc/kcore rwklx,
  deny /sys/** wklx,
  deny /sys/firmware/** rwklx,
  deny /sys/kernel/security/** rwklx,
}
`;

/** Gives the kernel the default profile, in place of an older one. */
export async function loadDefaultProfile(exec: Exec): Promise<void> {
  const program = (await parser()) ?? "apparmor_parser";
  await exec.run(program, ["--replace", "--skip-cache"], { input: DEFAULT_PROFILE_TEXT });
}
