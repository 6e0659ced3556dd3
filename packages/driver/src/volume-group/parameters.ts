import { CsiError } from "@mooring/csi";
import { MAX_SET_MEMBERS, type VolumeSet } from "@mooring/engine";
import { defined } from "@mooring/store";
import type { DriverContext } from "../context.ts";
import { findPool } from "../objects/find.ts";

/** What the parameters of a group, or of its class, decide. */
export interface GroupRules {
  pool?: string;
  maxVolumes?: number;
  deleteVolumes?: boolean;
}

/** What the Kubernetes side adds; taken note of, never acted on. */
const KUBERNETES_PREFIX = "csi.storage.k8s.io/";
/** ModifyVolumeGroupMembership: change the group only while `generation` in its context is still this one. */
const EXPECTED_GENERATION = "expected-generation";

const PARAMETERS: Readonly<Record<string, { read(value: string): GroupRules | undefined; wants: string }>> = {
  pool: {
    read: (value) => (/^[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?$/.test(value) ? { pool: value } : undefined),
    wants: "the name of a pool",
  },
  maxVolumes: {
    read: (value) =>
      /^[1-9]\d{0,2}$/.test(value) && Number(value) <= MAX_SET_MEMBERS
        ? { maxVolumes: Number(value) }
        : undefined,
    wants: `a whole number from 1 to ${MAX_SET_MEMBERS}`,
  },
  deleteVolumes: {
    read: (value) =>
      value === "true" || value === "false" ? { deleteVolumes: value === "true" } : undefined,
    wants: '"true" or "false"',
  },
};

/** Throws INVALID_ARGUMENT, with the parameter's name, for one that is not known or cannot be honoured. */
export async function parseGroupParameters(
  driver: DriverContext,
  parameters: Record<string, string>,
  signal: AbortSignal,
): Promise<GroupRules> {
  const rules: GroupRules = {};
  for (const [key, value] of Object.entries(parameters)) {
    if (key.startsWith(KUBERNETES_PREFIX)) continue;
    const parameter = Object.hasOwn(PARAMETERS, key) ? PARAMETERS[key] : undefined;
    if (parameter === undefined) throw unknown(key, Object.keys(PARAMETERS));
    const read = parameter.read(value);
    if (read === undefined)
      throw CsiError.invalidArgument(`parameter "${key}": "${value}" is not ${parameter.wants}`);
    Object.assign(rules, read);
  }
  if (driver.keepGroupVolumes && rules.deleteVolumes === true) {
    throw CsiError.invalidArgument(
      'parameter "deleteVolumes": this driver was started so that no group ever deletes a volume',
      { hint: "Leave the parameter out, or start the driver with --group-volumes delete." },
    );
  }
  if (rules.pool !== undefined && (await findPool(driver.store, rules.pool, signal)) === undefined) {
    throw CsiError.invalidArgument(`parameter "pool": there is no pool "${rules.pool}"`);
  }
  return rules;
}

/**
 * The generation that ModifyVolumeGroupMembership expects, if it does. A caller may also repeat what the group was
 * made with, as some pass the parameters of its class to every call; they do not change.
 */
export function expectedGeneration(set: VolumeSet, parameters: Record<string, string>): number | undefined {
  const made = (set.spec.request?.["parameters"] ?? {}) as Record<string, string>;
  for (const [key, value] of Object.entries(parameters)) {
    if (key === EXPECTED_GENERATION || key.startsWith(KUBERNETES_PREFIX)) continue;
    if (!Object.hasOwn(PARAMETERS, key)) throw unknown(key, [EXPECTED_GENERATION]);
    if (made[key] === value) continue;
    throw CsiError.invalidArgument(`parameter "${key}" cannot be changed`, {
      hint: "Make a new group with it, and move the volumes there.",
    });
  }
  const expected = parameters[EXPECTED_GENERATION];
  if (expected === undefined) return undefined;
  if (/^[1-9]\d{0,14}$/.test(expected)) return Number(expected);
  throw CsiError.invalidArgument(
    `parameter "${EXPECTED_GENERATION}": "${expected}" is not the generation of a group`,
    { hint: 'It is "generation" in the volume_group_context of every response.' },
  );
}

function unknown(key: string, known: readonly string[]): CsiError {
  return CsiError.invalidArgument(`volume group parameter "${key}" is not known`, {
    hint: `Known parameters: ${known.join(", ")}.`,
  });
}

/** `volume_group_context`: what was decided at its creation, and the generation, which counts its changes. */
export function contextOf(driver: Pick<DriverContext, "keepGroupVolumes">, { spec }: VolumeSet) {
  const { generation, pool, maxVolumes = MAX_SET_MEMBERS } = spec;
  return {
    generation: String(generation),
    maxVolumes: String(maxVolumes),
    deleteVolumes: String(deletesVolumes(driver, spec)),
    ...defined({ pool }),
  };
}

/** Whether deleting the group deletes its volumes. */
export function deletesVolumes(
  { keepGroupVolumes }: Pick<DriverContext, "keepGroupVolumes">,
  { deleteVolumes = true }: VolumeSet["spec"],
): boolean {
  return deleteVolumes && !keepGroupVolumes;
}
