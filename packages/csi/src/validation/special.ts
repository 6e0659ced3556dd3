import type { Message } from "@bufbuild/protobuf";
import type * as v1 from "../gen/csi/v1/csi_pb.ts";
import { PLUGIN_NAME, TOPOLOGY_KEY, TOPOLOGY_VALUE } from "./rules.ts";

/** The version of the specification that a caller uses. */
export type Version = "csi.v1" | "csi.v0";

type Check = (message: Message, caller: Version) => string | undefined;

/** The form of a key of the version, for messages. */
const KEY_FORM = {
  "csi.v1": "a name, or a prefix of lower-case letters, digits, '-' and '.' before a slash and a name",
  "csi.v0": "a name, or a prefix before a slash and a name; letters, digits, '-', '_' and '.'",
} as const;

function topology(message: Message, caller: Version): string | undefined {
  const seen = new Set<string>();
  for (const [key, value] of Object.entries((message as v1.Topology).segments)) {
    if (!TOPOLOGY_KEY[caller].test(key))
      return `segments has the key ${JSON.stringify(key)}, which is no topology key: use ${KEY_FORM[caller]}`;
    if (!TOPOLOGY_VALUE.test(value))
      return `segments[${key}] is ${JSON.stringify(value)}, which is no topology value`;
    // Keys are compared without case (section "Topology").
    if (seen.has(key.toLowerCase())) return `segments has the key ${key} twice`;
    seen.add(key.toLowerCase());
  }
  return undefined;
}

function capacityRange(message: Message): string | undefined {
  const { requiredBytes, limitBytes } = message as v1.CapacityRange;
  if (limitBytes === 0n || requiredBytes <= limitBytes) return undefined;
  return `required_bytes (${requiredBytes}) is larger than limit_bytes (${limitBytes})`;
}

function requirement(message: Message): string | undefined {
  const { requisite, preferred } = message as v1.TopologyRequirement;
  if (requisite.length === 0) return undefined;
  const allowed = new Set(requisite.map(({ segments }) => placeKey(segments)));
  const index = preferred.findIndex(({ segments }) => !allowed.has(placeKey(segments)));
  return index < 0 ? undefined : `preferred[${index}] is not among requisite`;
}

function placeKey(segments: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(segments).map(([key, value]) => `${key.toLowerCase()}=${value}`);
  return pairs.sort().join("\n");
}

function pluginName(message: Message): string | undefined {
  const { name } = message as v1.GetPluginInfoResponse;
  return PLUGIN_NAME.test(name) ? undefined : `name is ${JSON.stringify(name)}, which is no domain name`;
}

/** Rules of one message: those that read more than one field, and names of a form of their own. */
export const SPECIAL: Readonly<Record<string, Check>> = {
  "csi.v1.Topology": topology,
  "csi.v1.TopologyRequirement": requirement,
  "csi.v1.CapacityRange": capacityRange,
  "csi.v1.GetPluginInfoResponse": pluginName,
  "identity.GetIdentityResponse": pluginName,
  "csi.v0.Topology": (message) => topology(message, "csi.v0"),
  "csi.v0.TopologyRequirement": requirement,
  "csi.v0.CapacityRange": capacityRange,
};
