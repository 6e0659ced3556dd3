import { describeBytes } from "@mooring/store";
import { stringify } from "yaml";
import { table } from "../output/table.ts";
import type { ImportPlan } from "./plan.ts";

/** For people: one line an image, and below what is in the way, or what would be done. */
export function renderPlans(plans: readonly ImportPlan[]): string {
  if (plans.length === 0) return "no image but Mooring's own\n";
  const rows = plans.map(({ image, size, from, state }) => [
    image,
    describeBytes(size),
    from?.claim ?? from?.persistentVolume ?? from?.request ?? "",
    state,
  ]);
  return [
    table(["IMAGE", "SIZE", "OF CEPH-CSI", "STATE"], rows),
    ...plans.map(renderPlan),
    "nothing was changed\n",
  ].join("\n");
}

function renderPlan({ image, state, obstacles, notes, steps }: ImportPlan): string {
  const lines = [
    `${image}: ${state}`,
    ...obstacles.map(({ why, next }) => `  ${why}${next === undefined ? "" : `\n    next: ${next}`}`),
    ...notes.map((note) => `  note: ${note}`),
    ...steps.map((step) => `  would ${"run" in step ? `run ${step.run}` : described(step.create)}`),
  ];
  return `${lines.join("\n")}\n`;
}

function described(object: object): string {
  const text = stringify(JSON.parse(JSON.stringify(object)), { aliasDuplicateObjects: false });
  return `create\n${text.trimEnd().replaceAll(/^/gm, "    ")}`;
}
