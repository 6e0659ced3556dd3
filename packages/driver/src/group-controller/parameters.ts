import { CsiError } from "@mooring/csi";

/** Seconds after which every writer goes on. */
const DEADLINE = "deadlineSeconds";
/** Kubernetes' own test suite repeats this field of the class among its parameters. The field decides, not this. */
const POLICY_OF_CLASS = "deletionPolicy";

/**
 * The only parameter of ours; undefined when it is not given. The Kubernetes snapshotter adds what it knows of the
 * group. Throws INVALID_ARGUMENT for anything else.
 */
export function deadlineSecondsOf(parameters: Record<string, string>): number | undefined {
  const unknown = Object.keys(parameters).find(
    (key) => key !== DEADLINE && key !== POLICY_OF_CLASS && !key.startsWith("csi.storage.k8s.io/"),
  );
  if (unknown !== undefined) {
    throw CsiError.invalidArgument(`group snapshot parameter "${unknown}" is not known`, {
      hint: `Known parameters: ${DEADLINE}.`,
    });
  }
  const value = parameters[DEADLINE];
  if (value === undefined) return undefined;
  if (!/^\d{1,2}$/.test(value) || Number(value) < 1 || Number(value) > 60) {
    throw CsiError.invalidArgument(`parameter "${DEADLINE}": "${value}" is not a whole number from 1 to 60`);
  }
  return Number(value);
}
