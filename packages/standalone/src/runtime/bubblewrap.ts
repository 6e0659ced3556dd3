import type { ContainerConfig, ContainerMount } from "./runtime.ts";

/** What the runtime adds to a container's own configuration. */
export interface Sandbox {
  /** The machine's root file systems, read-only, without what is mounted on them. */
  root: string;
  /** Folders that no container may see: the state folder with its keys. */
  hidden: readonly string[];
  /** Host files that links in the root point to outside of it, such as the real /etc/resolv.conf. */
  extra: readonly ContainerMount[];
}

/**
 * Options of bubblewrap as they go into its `--args` file: environment values are secrets as often as not, and an
 * argument list is readable by everyone.
 *
 * The process with number 1 in the container is bubblewrap's reaper, the container's program is number 2. So signals
 * keep their default effect, and zombies are collected.
 */
export function bubblewrapOptions(config: ContainerConfig, sandbox: Sandbox): string[] {
  return [
    ["--ro-bind", sandbox.root, "/"],
    ["--proc", "/proc"],
    ["--dev", "/dev"],
    ["--ro-bind", "/sys", "/sys"],
    ["--perms", "1777", "--tmpfs", "/tmp"],
    ["--perms", "0755", "--tmpfs", "/run"],
    ...sandbox.hidden.map((path) => ["--perms", "0000", "--tmpfs", path, "--remount-ro", path]),
    ...byDepth([...sandbox.extra, ...config.mounts]).map((mount) => [
      mount.readOnly ? "--ro-bind" : "--bind",
      mount.source,
      mount.target,
    ]),
    ...config.devices.map((device) => ["--dev-bind", device.source, device.target]),
    ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--hostname", config.hostname],
    ["--chdir", config.workingDir ?? "/"],
    ["--clearenv"],
    ...Object.entries(config.env).map(([name, value]) => ["--setenv", name, value]),
    ...capabilityOptions(config.capabilities),
  ].flat();
}

/** The program and its arguments, started as the container's user. */
export function containerCommand(config: ContainerConfig): string[] {
  const { uid, gid, groups } = config.user;
  const membership = groups.length === 0 ? ["--clear-groups"] : ["--groups", groups.join(",")];
  return ["/usr/bin/setpriv", "--reuid", `${uid}`, "--regid", `${gid}`, ...membership, "--", ...config.argv];
}

/** Outer mounts first: a later mount on a parent folder would cover them. */
function byDepth(mounts: readonly ContainerMount[]): ContainerMount[] {
  const depth = (mount: ContainerMount) => mount.target.split("/").filter(Boolean).length;
  return [...mounts].sort((a, b) => depth(a) - depth(b));
}

function capabilityOptions(capabilities: readonly string[] | undefined): string[][] {
  if (capabilities === undefined) return [];
  // setpriv needs these two until it has become the user; becoming another one than root drops them.
  const needed = new Set([...capabilities, "SETUID", "SETGID"]);
  return [["--cap-drop", "ALL"], ...[...needed].sort().map((name) => ["--cap-add", `CAP_${name}`])];
}
