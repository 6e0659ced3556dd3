/** The canonical gRPC status codes by name. CSI uses no others (section "Error Scheme"). */
export const Code = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;

/** A gRPC status number. */
export type Code = (typeof Code)[keyof typeof Code];

/** The name of a gRPC status number, for example `NOT_FOUND`. */
export type CodeName = keyof typeof Code;

const nameByCode = new Map<number, CodeName>(
  (Object.keys(Code) as CodeName[]).map((name) => [Code[name], name]),
);

/** The name of a status number; numbers outside of gRPC's set read as `UNKNOWN`. */
export function codeName(code: number): CodeName {
  return nameByCode.get(code) ?? "UNKNOWN";
}

/** The number as a `Code`; numbers outside of gRPC's set become `UNKNOWN`. */
export function toCode(code: number): Code {
  return Code[codeName(code)];
}
