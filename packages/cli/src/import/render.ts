import { describeBytes } from "@mooring/store";
import { stringify } from "yaml";
import { table } from "../output/table.ts";
import type { ImportPlan } from "./plan.ts";
import type { ImportStep } from "./steps.ts";

/** For a terminal: one line an image, and below what is in the way, or what is to be done. `end`: what has come of it all. */
export function renderPlans(plans: readonly ImportPlan[], end: string): string {
  if (plans.length === 0) return "no image but Mooring's own\n";
  const rows = plans.map(({ image, size, from, state }) => [
    image,
    describeBytes(size),
    from?.claim ?? from?.persistentVolume ?? from?.request ?? "",
    state,
  ]);
  return [table(["IMAGE", "SIZE", "OF CEPH-CSI", "STATE"], rows), ...plans.map(renderPlan), `${end}\n`].join(
    "\n",
  );
}

function renderPlan({ image, state, obstacles, notes, steps }: ImportPlan): string {
  const lines = [
    `${image}: ${state}`,
    ...obstacles.map(({ why, next }) => `  ${why}${next === undefined ? "" : `\n    next: ${next}`}`),
    ...notes.map((note) => `  note: ${note}`),
    ...steps.map((step) => `  would ${renderStep(step)}`),
  ];
  return `${lines.join("\n")}\n`;
}

/** What a step does, as somebody would do it by hand; what is created is not shown. */
export function nameStep(step: ImportStep): string {
  if ("run" in step) return `run ${step.run.join(" ")}`;
  if ("create" in step) {
    const { kind, metadata } = step.create;
    return `create ${kind} ${metadata.namespace === undefined ? "" : `${metadata.namespace}/`}${metadata.name}`;
  }
  if ("patch" in step)
    return `run kubectl patch pv ${step.persistentVolume} -p '${JSON.stringify(step.patch)}'`;
  const { kind, namespace, name } = step.delete;
  return `delete ${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`;
}

function renderStep(step: ImportStep): string {
  if (!("create" in step)) return nameStep(step);
  const text = stringify(JSON.parse(JSON.stringify(step.create)), { aliasDuplicateObjects: false });
  return `create\n${text.trimEnd().replaceAll(/^/gm, "    ")}`;
}
