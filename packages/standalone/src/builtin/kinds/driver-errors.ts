import { type FieldError, invalid, required, tooLong } from "../../schema/field-error.ts";
import { nameProblems } from "../../schema/formats.ts";

const NAME_BYTES = 63;
const MOST_PARAMETERS = 512;
const PARAMETER_BYTES = 256 * 1024;

/** What is wrong with the name of a CSI driver, capitals aside (CSI, GetPluginInfoResponse). */
export function driverNameErrors(name: string, path: string): FieldError[] {
  if (name === "") return [required(path)];
  return [
    ...(name.length > NAME_BYTES ? [tooLong(path, NAME_BYTES)] : []),
    ...nameProblems("subdomain", name.toLowerCase()).map((problem) => invalid(path, name, problem)),
  ];
}

/** What is wrong with the name of a class; an empty one is wrong. */
export function classNameErrors(name: string, path: string): FieldError[] {
  return nameProblems("subdomain", name).map((problem) => invalid(path, name, problem));
}

/** What is wrong with a class's parameters for its driver. */
export function parameterErrors(parameters: Record<string, unknown>, path: string): FieldError[] {
  const entries = Object.entries(parameters);
  const size = entries.reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(String(value)),
    0,
  );
  return [
    ...(entries.length > MOST_PARAMETERS ? [tooLong(path, MOST_PARAMETERS)] : []),
    ...(Object.hasOwn(parameters, "") ? [invalid(path, "", "field can not be empty.")] : []),
    ...(size > PARAMETER_BYTES ? [tooLong(path, PARAMETER_BYTES)] : []),
  ];
}
