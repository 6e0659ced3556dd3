import { stringify } from "yaml";

/** Far more than objects of Kubernetes have; the package needs a few frames of the stack for each. */
const INDENTED_DEPTH = 100;

/**
 * A value as YAML. What is nested deeper than a user reads is written as JSON, which is YAML as well: no depth overflows
 * the stack.
 */
export function yamlText(value: unknown): string {
  if (isDeeper(value, INDENTED_DEPTH)) return `${JSON.stringify(value)}\n`;
  return stringify(value, { aliasDuplicateObjects: false });
}

/** Values as the elements of a list. */
export function yamlElements(values: readonly unknown[]): string {
  const element = (value: unknown) =>
    isDeeper(value, INDENTED_DEPTH) ? `- ${JSON.stringify(value)}\n` : yamlText([value]);
  return values.map(element).join("");
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((child) => isDeeper(child, levels - 1));
}
