import { readFile } from "node:fs/promises";

/**
 * For processors whose wide registers the guest's kernel cannot save (see `registerFilter`): its programs keep to those of 128 bits.
 * These are libc, OpenSSL, and what Node.js converts texts with.
 */
export const NARROW: readonly string[] = [
  "GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX,-AVX2,-AVX512F,-AVX512VL,-AVX512BW,-ERMS,-AVX_Fast_Unaligned_Load",
  "OPENSSL_ia32cap=~0x1000000000000000:~0xffffffffffffffff",
  "SIMDUTF_FORCE_IMPLEMENTATION=westmere",
];
/** Node.js of a guest: the code that it makes keeps to them as well. */
export const GUEST_NODE: string = [process.execPath, "--no-enable-avx", "--no-enable-avx2"].join(" ");

/** Of <linux/ptrace.h>, <linux/elf.h> and <linux/seccomp.h>, for x86_64. */
const PTRACE = { call: 101, getRegset: 0x4204, setRegset: 0x4205, xstate: 0x202 };
const RETURN = { nodev: 0x00050013, allow: 0x7fff0000 };

/**
 * A filter for seccomp(2) that denies ptrace(2) the extended processor state. The kernel of the guest reserves less
 * room for it than processors with AMX need, and dies of that; where there is none to be had it does without, and registers of
 * more than 128 bits are lost whenever another process has its turn. Undefined where nothing has to be denied.
 */
export async function registerFilter(): Promise<Buffer | undefined> {
  if (!/^flags\b.*\bamx_tile\b/m.test(await readFile("/proc/cpuinfo", "utf8"))) return undefined;
  const [load, equal, end] = [0x20, 0x15, 0x06];
  const program = [
    [load, 0, 0, 0],
    [equal, 0, 6, PTRACE.call],
    [load, 0, 0, 16],
    [equal, 1, 0, PTRACE.getRegset],
    [equal, 0, 3, PTRACE.setRegset],
    [load, 0, 0, 32],
    [equal, 0, 1, PTRACE.xstate],
    [end, 0, 0, RETURN.nodev],
    [end, 0, 0, RETURN.allow],
  ] as const;
  const bytes = Buffer.alloc(8 * program.length);
  program.forEach(([code, yes, no, value], index) => {
    bytes.writeUInt16LE(code, 8 * index);
    bytes.writeUInt8(yes, 8 * index + 2);
    bytes.writeUInt8(no, 8 * index + 3);
    bytes.writeUInt32LE(value, 8 * index + 4);
  });
  return bytes;
}
