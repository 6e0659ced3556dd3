import { isDeleting, labelRequirements, matchesLabels } from "@mooring/store";
import {
  DEFAULT_GROUP,
  GROUP_LABEL_PREFIX,
  JOB_LABEL_PREFIX,
  type RecurringJob,
} from "../../../api/recurring-job.ts";
import type { Volume } from "../../../api/volume.ts";

const ENABLED = "enabled";

/**
 * The volumes that a job works on: those labelled with its name or one of its groups, those that its selector matches,
 * and, when it is of the default group, those without any such label. Ordered by name.
 */
export function membersOf({ metadata, spec }: RecurringJob, volumes: readonly Volume[]): Volume[] {
  const groups = spec.groups ?? [];
  const requirements = spec.volumeSelector === undefined ? undefined : labelRequirements(spec.volumeSelector);
  const takesPart = ({ metadata: { labels = {} } }: Volume): boolean => {
    if (labels[`${JOB_LABEL_PREFIX}${metadata.name}`] === ENABLED) return true;
    if (groups.some((group) => labels[`${GROUP_LABEL_PREFIX}${group}`] === ENABLED)) return true;
    // An empty selector would match everything: that has to be requested with the default group.
    if (requirements !== undefined && requirements.length > 0 && matchesLabels(requirements, labels))
      return true;
    return groups.includes(DEFAULT_GROUP) && !hasOwnJobs(labels);
  };
  return volumes
    .filter((volume) => !isDeleting(volume) && volume.status?.size !== undefined && takesPart(volume))
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

function hasOwnJobs(labels: Record<string, string>): boolean {
  const prefixes = [JOB_LABEL_PREFIX, GROUP_LABEL_PREFIX];
  return Object.keys(labels).some((key) => prefixes.some((prefix) => key.startsWith(prefix)));
}
