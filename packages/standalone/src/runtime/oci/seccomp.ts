import { HARMLESS, OF_ARCHITECTURE, WITH_CAPABILITY } from "./system-calls.ts";

interface Argument {
  index: number;
  value: number;
  valueTwo?: number;
  op: "SCMP_CMP_EQ" | "SCMP_CMP_NE" | "SCMP_CMP_MASKED_EQ";
}

interface Rule {
  names: readonly string[];
  action: "SCMP_ACT_ALLOW" | "SCMP_ACT_ERRNO";
  errnoRet?: number;
  args?: Argument[];
}

/** `linux.seccomp` of a bundle. */
export interface SeccompProfile {
  defaultAction: "SCMP_ACT_ERRNO";
  /** What a call gets that is not allowed. */
  defaultErrnoRet: number;
  architectures: readonly string[];
  syscalls: Rule[];
}

const EPERM = 1;
const ENOSYS = 38;
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET. */
const NEW_NAMESPACES = 0x7e020000;
/** Sockets to the hypervisor are seen by no namespace. */
const AF_VSOCK = 40;
/** PER_LINUX, PER_LINUX32, each also with UNAME26; the last one only asks. */
const PERSONALITIES = [0x0, 0x8, 0x20000, 0x20008, 0xffffffff];
/**
 * Each makes the filter longer, and every start by some 5 ms of the processor. Not x32, which kernels have switched off and
 * for which no image has programs: a process that makes its calls is ended.
 */
const ARCHITECTURES: Readonly<Record<string, readonly string[]>> = {
  x64: ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86"],
  arm64: ["SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"],
};

/** The profile that Kubernetes calls RuntimeDefault, for a container with these capabilities. */
export function runtimeDefault(capabilities: readonly string[], arch: string = process.arch): SeccompProfile {
  const owned = Object.entries(WITH_CAPABILITY).filter(([name]) => capabilities.includes(name));
  return {
    defaultAction: "SCMP_ACT_ERRNO",
    defaultErrnoRet: EPERM,
    architectures: ARCHITECTURES[arch] ?? [],
    syscalls: [
      allow([...HARMLESS, ...(OF_ARCHITECTURE[arch] ?? [])]),
      allow(["socket"], { index: 0, value: AF_VSOCK, op: "SCMP_CMP_NE" }),
      ...PERSONALITIES.map((value) => allow(["personality"], { index: 0, value, op: "SCMP_CMP_EQ" })),
      ...owned.map(([, names]) => allow(names)),
      ...(capabilities.includes("SYS_ADMIN") ? [] : withoutNamespaces()),
    ],
  };
}

function allow(names: readonly string[], ...args: Argument[]): Rule {
  return { names, action: "SCMP_ACT_ALLOW", ...(args.length === 0 ? {} : { args }) };
}

/** A filter cannot read what clone3 points to; with ENOSYS, libraries use clone. */
function withoutNamespaces(): Rule[] {
  return [
    allow(["clone"], { index: 0, value: NEW_NAMESPACES, valueTwo: 0, op: "SCMP_CMP_MASKED_EQ" }),
    { names: ["clone3"], action: "SCMP_ACT_ERRNO", errnoRet: ENOSYS },
  ];
}
