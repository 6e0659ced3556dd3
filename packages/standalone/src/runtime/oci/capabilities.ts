import { readFileSync } from "node:fs";

/** What container runtimes give to root by default. */
export const DEFAULT_CAPABILITIES: readonly string[] = [
  ...["CHOWN", "DAC_OVERRIDE", "FSETID", "FOWNER", "MKNOD", "NET_RAW", "SETGID", "SETUID", "SETFCAP"],
  ...["SETPCAP", "NET_BIND_SERVICE", "SYS_CHROOT", "KILL", "AUDIT_WRITE"],
];

/** All that Linux has, capabilities(7), without `CAP_`, in the order of their numbers. */
export const CAPABILITIES: readonly string[] = [
  ...["CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID"],
  ...["SETPCAP", "LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW"],
  ...["IPC_LOCK", "IPC_OWNER", "SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT"],
  ...["SYS_ADMIN", "SYS_BOOT", "SYS_NICE", "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD"],
  ...["LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP", "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG"],
  ...["WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF", "CHECKPOINT_RESTORE"],
];

/** Those that this process may pass on: what `ALL` means, also in a virtual machine that lacks some. */
export function ownCapabilities(): string[] {
  const [, mask = "0"] = /^CapBnd:\s+(\w+)$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
  const bits = BigInt(`0x${mask}`);
  return CAPABILITIES.filter((_, number) => ((bits >> BigInt(number)) & 1n) === 1n);
}
