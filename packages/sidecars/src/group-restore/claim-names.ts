import type { MemberOverrides, VolumeGroupRestore } from "../kube/group-restore.ts";

const DEFAULT_TEMPLATE = "{{claim}}-{{restore}}";
const MOST_CHARACTERS = 253;
const SUBDOMAIN = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;

/** Fills in `{{claim}}`, `{{restore}}` and `{{groupSnapshot}}`; the definition's rules allow no others. */
export function claimNameFor(
  restore: VolumeGroupRestore,
  sourceClaim: string,
  overrides: MemberOverrides | undefined,
): string {
  if (overrides?.name !== undefined) return overrides.name;
  const values: Readonly<Record<string, string>> = {
    claim: sourceClaim,
    restore: restore.metadata.name,
    groupSnapshot: restore.spec.source.volumeGroupSnapshotName,
  };
  const template = restore.spec.claimNameTemplate ?? DEFAULT_TEMPLATE;
  return template.replace(/\{\{(\w+)\}\}/g, (whole, key: string) => values[key] ?? whole);
}

/** What is wrong with a name that came out of a template; undefined when nothing is. */
export function claimNameProblem(name: string): string | undefined {
  if (name.length > MOST_CHARACTERS)
    return `the name ${name.slice(0, 40)}... has ${name.length} characters, more than ${MOST_CHARACTERS}`;
  return SUBDOMAIN.test(name) ? undefined : `${JSON.stringify(name)} cannot be the name of a claim`;
}
