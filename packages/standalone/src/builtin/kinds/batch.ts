import { CronJobs, Jobs, type UnstructuredObject } from "@mooring/store";
import { Cron } from "croner";
import { age } from "../../kinds/age.ts";
import {
  ageColumn,
  type BuiltinKind,
  column,
  dig,
  digList,
  digObject,
  digText,
  text,
} from "../../kinds/builtin-kind.ts";
import { type FieldError, forbidden, invalid, required, tooLong } from "../../schema/field-error.ts";
import { clone, type JsonObject, jsonEqual } from "../../schema/model.ts";
import { immutable } from "../immutable.ts";
import { SCHEDULE_SYNTAX } from "../schedule-syntax.ts";
import { batchTypes } from "../types/workloads.ts";
import { defaultPodSpec } from "./pod-defaults.ts";
import { count, podCountErrors, templateColumns, templateErrors, workloadErrors } from "./pod-template.ts";

const POLICIES = ["OnFailure", "Never"];
/** Kubernetes has them, and Jobs here do not: an object that needs one is refused instead of run wrongly. */
const UNSUPPORTED = [
  ...["podFailurePolicy", "successPolicy", "backoffLimitPerIndex", "maxFailedIndexes", "managedBy"],
];
/** A longer time cannot be counted in milliseconds. */
const MOST_SECONDS = 2_147_483_647;

function defaultJobSpec(spec: JsonObject): void {
  // Of a Job that names neither, one pod is enough; of one that names completions, as many.
  if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1;
  spec.parallelism ??= 1;
  spec.backoffLimit ??= 6;
  spec.podReplacementPolicy ??= "TerminatingOrFailed";
  defaultPodSpec(digObject(spec, "template", "spec"));
}

function jobSpecErrors(spec: JsonObject, at: string): FieldError[] {
  const errors = UNSUPPORTED.filter((field) => spec[field] !== undefined).map((field) =>
    forbidden(`${at}.${field}`, "standalone does not support it"),
  );
  if (spec.completionMode === "Indexed" && spec.completions === undefined) {
    errors.push(required(`${at}.completions`, "when completion mode is Indexed"));
  }
  const deadline = spec.activeDeadlineSeconds;
  if (typeof deadline === "number" && (deadline < 0 || deadline > MOST_SECONDS)) {
    errors.push(
      invalid(`${at}.activeDeadlineSeconds`, deadline, "must be between 0 and 2147483647, inclusive"),
    );
  }
  return [...errors, ...podCountErrors(spec.parallelism, `${at}.parallelism`)];
}

/**
 * The server makes the selector, or adds to that of the user, so that no two Jobs count each other's pods, and none takes
 * over, or deletes, pods of others that have the same labels.
 */
function ownSelector(job: UnstructuredObject): void {
  const spec = digObject(job, "spec");
  if (spec.manualSelector === true) return;
  const uid = job.metadata.uid ?? "";
  const template = digObject(spec, "template");
  const metadata = digObject(template, "metadata");
  template.metadata = metadata;
  metadata.labels = {
    ...digObject(metadata, "labels"),
    ...{ "batch.kubernetes.io/controller-uid": uid, "controller-uid": uid },
    ...{ "batch.kubernetes.io/job-name": job.metadata.name, "job-name": job.metadata.name },
  };
  // Of a Job that was read from a server and is made anew, the labels are those of the one before.
  const { "controller-uid": _, ...labels } = digObject(spec, "selector", "matchLabels");
  const matchLabels = { ...labels, "batch.kubernetes.io/controller-uid": uid };
  spec.selector = { ...digObject(spec, "selector"), matchLabels };
}

/** Of the template, nothing changes but where the pods go while the Job has not begun. */
function jobUpdateErrors(next: UnstructuredObject, old: UnstructuredObject): FieldError[] {
  const errors = immutable(next, old, "spec.selector", "spec.completionMode");
  const after = clone(digObject(next, "spec", "template"));
  const before = clone(digObject(old, "spec", "template"));
  const waits = dig(old, "spec", "suspend") === true && dig(old, "status", "startTime") === undefined;
  for (const template of waits ? [after, before] : []) {
    for (const field of ["nodeSelector", "affinity", "tolerations", "schedulingGates"])
      delete digObject(template, "spec")[field];
  }
  if (!jsonEqual(after, before)) errors.push(invalid("spec.template", after, "field is immutable"));
  const elastic = dig(next, "spec", "completionMode") === "Indexed";
  if (!elastic) errors.push(...immutable(next, old, "spec.completions"));
  return errors;
}

const condition = (job: UnstructuredObject, type: string): boolean =>
  digList(job, "status", "conditions").some((c) => c.type === type && c.status === "True");

function jobState(job: UnstructuredObject): string {
  const ended = ["Complete", "Failed"].find((type) => condition(job, type));
  if (ended !== undefined) return ended;
  if (job.metadata.deletionTimestamp !== undefined) return "Terminating";
  const found = ["Suspended", "FailureTarget", "SuccessCriteriaMet"].find((type) => condition(job, type));
  return found ?? "Running";
}

function completions(job: UnstructuredObject): string {
  const done = count(job, "status", "succeeded");
  const wanted = dig(job, "spec", "completions");
  if (wanted !== undefined) return `${done}/${wanted}`;
  const parallelism = count(job, "spec", "parallelism");
  return parallelism > 1 ? `${done}/1 of ${parallelism}` : `${done}/1`;
}

function duration(job: UnstructuredObject, now: Date): string {
  const start = dig(job, "status", "startTime");
  if (typeof start !== "string") return "";
  const end = dig(job, "status", "completionTime");
  return age(start, typeof end === "string" ? new Date(end) : now);
}

const jobs: BuiltinKind = {
  resource: Jobs,
  schema: batchTypes.get("Job"),
  singular: "job",
  categories: ["all"],
  hasStatus: true,
  columns: [
    column("Status", jobState),
    column("Completions", completions),
    column("Duration", duration),
    ageColumn,
    ...templateColumns(),
  ],
  rules: {
    prepareCreate: ownSelector,
    defaults: (job) => defaultJobSpec(digObject(job, "spec")),
    validate: (job) => [...workloadErrors(job, POLICIES), ...jobSpecErrors(digObject(job, "spec"), "spec")],
    validateUpdate: (next, old, subresource) => (subresource === "status" ? [] : jobUpdateErrors(next, old)),
    selectableFields: (job) => ({ "status.successful": String(count(job, "status", "succeeded")) }),
  },
};

/** A CronJob's name and the minute make the name of its Jobs. */
const LONGEST_NAME = 52;

function cronJobErrors(cronJob: UnstructuredObject): FieldError[] {
  const { name = "" } = cronJob.metadata;
  const spec = digObject(cronJob, "spec");
  const template = digObject(spec, "jobTemplate", "spec");
  const at = "spec.jobTemplate.spec";
  return [
    ...(name.length > LONGEST_NAME
      ? [invalid("metadata.name", name, `must be no more than ${LONGEST_NAME} characters`)]
      : []),
    ...scheduleErrors(spec),
    ...jobSpecErrors(template, at),
    ...templateErrors(digObject(template, "template"), `${at}.template`, POLICIES),
  ];
}

/** Of five fields of lists, in characters; what reads a schedule takes time for each. */
const LONGEST_SCHEDULE = 1_000;

function scheduleErrors(spec: JsonObject): FieldError[] {
  const schedule = digText(spec, "schedule");
  if (schedule.length > LONGEST_SCHEDULE) return [tooLong("spec.schedule", LONGEST_SCHEDULE)];
  const timezone = spec.timeZone;
  if (typeof timezone === "string" && !isTimeZone(timezone)) {
    return [invalid("spec.timeZone", timezone, "unknown time zone")];
  }
  if (/\bTZ=/.test(schedule)) {
    return [
      invalid("spec.schedule", schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"),
    ];
  }
  try {
    new Cron(schedule, { paused: true, ...SCHEDULE_SYNTAX }).stop();
    return [];
  } catch (error) {
    return [invalid("spec.schedule", schedule, error instanceof Error ? error.message : String(error))];
  }
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return name !== "" && name !== "Local";
  } catch {
    return false;
  }
}

const cronJobs: BuiltinKind = {
  resource: CronJobs,
  schema: batchTypes.get("CronJob"),
  singular: "cronjob",
  shortNames: ["cj"],
  categories: ["all"],
  hasStatus: true,
  columns: [
    column("Schedule", (cronJob) => digText(cronJob, "spec", "schedule")),
    column("Timezone", (cronJob) => text(dig(cronJob, "spec", "timeZone"))),
    column("Suspend", (cronJob) => (dig(cronJob, "spec", "suspend") === true ? "True" : "False")),
    column("Active", (cronJob) => digList(cronJob, "status", "active").length, { type: "integer" }),
    column("Last Schedule", (cronJob, now) => {
      const last = dig(cronJob, "status", "lastScheduleTime");
      return typeof last === "string" ? age(last, now) : "<none>";
    }),
    ageColumn,
    ...templateColumns({ path: ["spec", "jobTemplate", "spec", "template"], selector: false }),
  ],
  rules: {
    defaults: (cronJob) => defaultJobSpec(digObject(cronJob, "spec", "jobTemplate", "spec")),
    validate: cronJobErrors,
  },
};

/** Workloads that come to an end. */
export const batchKinds: readonly BuiltinKind[] = [jobs, cronJobs];
