import { release } from "node:os";
import type { ContainerConfig, ContainerMount } from "../runtime.ts";

/** One of `mounts` of a bundle. */
export interface OciMount {
  destination: string;
  type: string;
  source: string;
  options: readonly string[];
}

/** Parts of /proc and /sys that reveal the machine: covered. As in Kubernetes. */
export const MASKED_PATHS: readonly string[] = [
  ...["/proc/asound", "/proc/acpi", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats"],
  ...["/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi"],
  ...["/sys/firmware", "/sys/devices/virtual/powercap"],
];

/** Parts of /proc through which the machine could be changed. As in Kubernetes. */
export const READ_ONLY_PATHS: readonly string[] = ["bus", "fs", "irq", "sys", "sysrq-trigger"].map(
  (name) => `/proc/${name}`,
);

const SAFE = ["nosuid", "noexec", "nodev"];

/**
 * What each container has of its own; without an image, which it could write to, also some room for its files. `/sys` shows the
 * network, which is the machine's: a user namespace that has none of its own may not mount it, but gets the machine's.
 */
export function systemMounts({ image, users }: Pick<ContainerConfig, "image" | "users">): OciMount[] {
  return [
    fresh("/proc", "proc", SAFE),
    fresh("/dev", "tmpfs", ["nosuid", "strictatime", "mode=755", "size=65536k"]),
    fresh("/dev/pts", "devpts", ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"]),
    fresh("/dev/shm", "tmpfs", [...SAFE, "mode=1777", "size=65536k"]),
    fresh("/dev/mqueue", "mqueue", SAFE),
    users === undefined ? fresh("/sys", "sysfs", [...SAFE, "ro"]) : SYS_OF_MACHINE,
    fresh("/sys/fs/cgroup", "cgroup", [...SAFE, "relatime", "ro"]),
    ...(image === undefined ? ROOM : []),
  ];
}

const ROOM: readonly OciMount[] = [
  fresh("/tmp", "tmpfs", ["nosuid", "nodev", "mode=1777"]),
  fresh("/run", "tmpfs", ["nosuid", "nodev", "mode=755"]),
];

function fresh(destination: string, type: string, options: readonly string[]): OciMount {
  return { destination, type, source: type, options };
}

const [MAJOR = 0, MINOR = 0] = release().split(".").map(Number);
/** The kernel can make a mount read-only with everything that is mounted on it. */
export const MOUNTS_READ_ONLY_BELOW: boolean = MAJOR > 5 || (MAJOR === 5 && MINOR >= 12);
const READ_ONLY = MOUNTS_READ_ONLY_BELOW ? ["ro", "rro"] : ["ro"];

const SYS_OF_MACHINE: OciMount = {
  ...{ destination: "/sys", type: "bind", source: "/sys" },
  options: ["rbind", "rprivate", ...SAFE, ...READ_ONLY],
};

/** A bind mount that no later mount of the machine, or of the container, spreads to. */
export function volumeMount({ source, target, readOnly }: ContainerMount): OciMount {
  const access = readOnly ? READ_ONLY : ["rw"];
  return { destination: target, type: "bind", source, options: ["rbind", "rprivate", ...access] };
}
