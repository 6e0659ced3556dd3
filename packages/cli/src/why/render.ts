import { colored } from "../output/color.ts";
import { causes, type Finding, type FindingState } from "./finding.ts";

const MARK: Readonly<Record<FindingState, string>> = { ok: "ok     ", waiting: "waiting", failed: "FAILED " };

function lines(finding: Finding, depth: number): string[] {
  const indent = "  ".repeat(depth);
  return [
    `${colored(finding.state, MARK[finding.state])}  ${indent}${finding.subject}: ${finding.message}`,
    ...finding.children.flatMap((child) => lines(child, depth + 1)),
  ];
}

/** The tree, then every cause with its next step. */
export function renderFinding(root: Finding): string {
  const out = lines(root, 0);
  const steps = causes(root).filter((cause) => cause.next !== undefined);
  if (steps.length > 0) out.push("", ...steps.map((cause) => `next: ${cause.next}`));
  return `${out.join("\n")}\n`;
}
