import { readFile } from "node:fs/promises";
import { release } from "node:os";
import { type AppArmor, appArmorHere } from "./apparmor.ts";
import { controllersHere } from "./controllers.ts";

/** What this machine can do for containers. */
export interface MachineSupport {
  /** Controllers of control groups that are mounted. */
  controllers: ReadonlySet<string>;
  /** Why containers cannot have users of their own; undefined when they can. */
  noUserNamespaces: string | undefined;
  appArmor: AppArmor;
}

/** Since then memory file systems show their files as another user's, too. */
const LEAST = [6, 3] as const;

/** Read anew: controllers are mounted and profiles loaded while we run. */
export async function machineSupport(): Promise<MachineSupport> {
  const [controllers, noUserNamespaces, appArmor] = await Promise.all([
    controllersHere(),
    withoutUserNamespaces(),
    appArmorHere(),
  ]);
  return { controllers, noUserNamespaces, appArmor };
}

async function withoutUserNamespaces(): Promise<string | undefined> {
  const [major = 0, minor = 0] = release().split(".").map(Number);
  if (major < LEAST[0] || (major === LEAST[0] && minor < LEAST[1]))
    return `user namespaces need Linux ${LEAST.join(".")} or newer, for id-mapped mounts; this is ${release()}`;
  const most = await readFile("/proc/sys/user/max_user_namespaces", "utf8").catch(() => "0");
  return Number(most) > 0 ? undefined : "this machine allows none: user.max_user_namespaces is 0";
}
