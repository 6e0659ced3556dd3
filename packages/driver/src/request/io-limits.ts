import type { Volume } from "@mooring/engine";

/** Mutable parameters that limit input and output, with the key of `io.max` (cgroup v2) that each becomes. */
export const IO_LIMITS = {
  readBytesPerSecond: "rbps",
  writeBytesPerSecond: "wbps",
  readIOPS: "riops",
  writeIOPS: "wiops",
} as const;

export type IoKey = (typeof IO_LIMITS)[keyof typeof IO_LIMITS];
/** A whole number per second; what is absent is not limited. */
export type IoLimits = Partial<Record<IoKey, string>>;

/** Takes a limit away again: keys of a volume's parameters are only ever added. */
const NONE = "max";

export const IO_LIMIT = {
  describe: `a whole number above 0 per second, or "${NONE}"`,
  valid: (value: string): boolean => value === NONE || /^[1-9]\d{0,14}$/.test(value),
};

/** The limits among a volume's mutable parameters. */
export function ioLimitsOf(parameters: Volume["spec"]["mutableParameters"]): IoLimits {
  const limits: IoLimits = {};
  for (const [name, key] of Object.entries(IO_LIMITS)) {
    const value = parameters?.[name];
    if (value !== undefined && value !== NONE) limits[key] = value;
  }
  return limits;
}

export function hasLimits(limits: IoLimits): boolean {
  return Object.keys(limits).length > 0;
}
