import { digList, digObject, digText } from "../../kinds/builtin-kind.ts";
import { type FieldError, forbidden, invalid, required } from "../../schema/field-error.ts";
import { isObject, type JsonObject } from "../../schema/model.ts";

/** Where a container's variables come from: each from one place. */
export function variableErrors(container: JsonObject, path: string): FieldError[] {
  const errors: FieldError[] = [];
  for (const [i, env] of digList(container, "env").entries()) {
    const at = `${path}.env[${i}]`;
    if (digText(env, "name") === "") errors.push(required(`${at}.name`));
    if (isObject(env.valueFrom)) errors.push(...valueFromErrors(env, `${at}.valueFrom`));
  }
  for (const from of digList(container, "envFrom")) {
    const sources = given(from, ["configMapRef", "secretRef"]);
    const at = `${path}.envFrom`;
    if (sources === 0) errors.push(invalid(at, "", "must specify one of: `configMapRef` or `secretRef`"));
    if (sources > 1) errors.push(invalid(at, "", ONLY_ONE));
  }
  return errors;
}

const ONLY_ONE = "may not have more than one field specified at a time";
const SOURCES = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"];

function valueFromErrors(env: JsonObject, path: string): FieldError[] {
  const sources = given(digObject(env, "valueFrom"), SOURCES);
  const named = SOURCES.map((name) => `\`${name}\``);
  if (sources === 0) {
    const detail = `must specify one of: ${named.slice(0, -1).join(", ")} or ${named.at(-1)}`;
    return [invalid(path, "", detail)];
  }
  if (digText(env, "value") !== "")
    return [invalid(path, "", "may not be specified when `value` is not empty")];
  return sources > 1 ? [invalid(path, "", ONLY_ONE)] : [];
}

const given = (owner: JsonObject, names: readonly string[]): number =>
  names.filter((name) => isObject(owner[name])).length;

const PROBES = ["livenessProbe", "readinessProbe", "startupProbe"] as const;
const HANDLERS = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"];
const NOT_OF_INIT = "may not be set for init containers without restartPolicy=Always";

/** What a container is asked, and what is done at moments of its life. `isInit`: it ends before others begin. */
export function lifeErrors(container: JsonObject, path: string, isInit: boolean): FieldError[] {
  if (isInit) {
    return ["lifecycle", ...PROBES]
      .filter((field) => isObject(container[field]))
      .map((field) => forbidden(`${path}.${field}`, NOT_OF_INIT));
  }
  const lifecycle = digObject(container, "lifecycle");
  const hooks = ["postStart", "preStop"].filter((hook) => isObject(lifecycle[hook]));
  return [
    ...hooks.flatMap((hook) => handlerErrors(digObject(lifecycle, hook), `${path}.lifecycle.${hook}`)),
    ...PROBES.filter((probe) => isObject(container[probe])).flatMap((probe) =>
      probeErrors(probe, digObject(container, probe), `${path}.${probe}`),
    ),
  ];
}

function probeErrors(kind: (typeof PROBES)[number], probe: JsonObject, path: string): FieldError[] {
  const errors = handlerErrors(probe, path);
  const { successThreshold = 1, terminationGracePeriodSeconds: grace } = probe;
  if (kind !== "readinessProbe" && successThreshold !== 1)
    errors.push(invalid(`${path}.successThreshold`, successThreshold, "must be 1"));
  const at = `${path}.terminationGracePeriodSeconds`;
  if (typeof grace === "number" && grace <= 0) errors.push(invalid(at, grace, "must be greater than 0"));
  if (kind === "readinessProbe" && typeof grace === "number")
    errors.push(invalid(at, grace, "must not be set for readinessProbes"));
  return errors;
}

function handlerErrors(handler: JsonObject, path: string): FieldError[] {
  const [first, ...others] = HANDLERS.filter((name) => isObject(handler[name]));
  if (first === undefined) return [required(path, "must specify a handler type")];
  return [
    ...(first === "exec" && !Array.isArray(digObject(handler, "exec").command)
      ? [required(`${path}.exec.command`)]
      : []),
    ...others.map((name) => forbidden(`${path}.${name}`, "may not specify more than 1 handler type")),
  ];
}
