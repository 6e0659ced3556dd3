import { v1 } from "@mooring/csi";

const { VolumeCapability_AccessMode_Mode: Mode } = v1;

/** What an access mode allows, and so what a second publication of the same volume may be. */
export interface AccessMode {
  name: string;
  /** The engine's short form. */
  short: "rwo" | "rwop" | "rox" | "rwx";
  /** May be published on several nodes at once. */
  multiNode: boolean;
  /** Of several nodes one may write, the others only read. */
  oneWriter: boolean;
  /** May be published at several target paths of one node at once. */
  multiTarget: boolean;
  readOnly: boolean;
}

const DEFAULTS = { multiNode: false, oneWriter: false, multiTarget: true, readOnly: false };

/** CSI `VolumeCapability.AccessMode`, with the column of the second-NodePublishVolume table that each falls in. */
export const ACCESS_MODES: ReadonlyMap<number, AccessMode> = new Map([
  mode(Mode.SINGLE_NODE_WRITER, "SINGLE_NODE_WRITER", "rwo", { multiTarget: false }),
  mode(Mode.SINGLE_NODE_READER_ONLY, "SINGLE_NODE_READER_ONLY", "rwo", {
    readOnly: true,
    multiTarget: false,
  }),
  mode(Mode.SINGLE_NODE_SINGLE_WRITER, "SINGLE_NODE_SINGLE_WRITER", "rwop", { multiTarget: false }),
  mode(Mode.SINGLE_NODE_MULTI_WRITER, "SINGLE_NODE_MULTI_WRITER", "rwo", {}),
  mode(Mode.MULTI_NODE_READER_ONLY, "MULTI_NODE_READER_ONLY", "rox", { multiNode: true, readOnly: true }),
  mode(Mode.MULTI_NODE_SINGLE_WRITER, "MULTI_NODE_SINGLE_WRITER", "rwx", {
    multiNode: true,
    oneWriter: true,
  }),
  mode(Mode.MULTI_NODE_MULTI_WRITER, "MULTI_NODE_MULTI_WRITER", "rwx", { multiNode: true }),
]);

const BY_NAME = new Map([...ACCESS_MODES.values()].map((entry) => [entry.name, entry]));

/** The mode with this name, as capabilities are recorded. */
export function accessModeNamed(name: string): AccessMode | undefined {
  return BY_NAME.get(name);
}

/** The widest of several modes: what the volume has to allow at least. */
export function widest(modes: readonly AccessMode[]): AccessMode["short"] {
  for (const short of ["rwx", "rox", "rwo"] as const) {
    if (modes.some((entry) => entry.short === short)) return short;
  }
  return "rwop";
}

/** What a mode comes to where there is one node for good: nothing has to be reached from another one. */
export function onOneNode(mode: AccessMode): AccessMode {
  return mode.multiNode ? { ...mode, short: "rwo", multiNode: false } : mode;
}

function mode(
  number: number,
  name: string,
  short: AccessMode["short"],
  more: Partial<Pick<AccessMode, "multiNode" | "oneWriter" | "multiTarget" | "readOnly">>,
): [number, AccessMode] {
  return [number, { name, short, ...DEFAULTS, ...more }];
}
