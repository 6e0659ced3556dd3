/**
 * The JSON paths of printer columns and scale subresources: `.spec.size`, `.status.items[0].name`, `[*]`,
 * `['a.b']`, `metadata.annotations.a\.b`, `.conditions[?(@.type=="Ready")].status`. Not the whole language of
 * kubectl: that one runs in kubectl.
 */
type JsonPath = (root: unknown) => unknown[];

type Step = (value: unknown) => unknown[];

const cache = new Map<string, JsonPath>();

/** Compiles once per path; an unreadable path finds nothing, as a table must not fail for one column. */
export function jsonPath(path: string): JsonPath {
  let compiled = cache.get(path);
  if (compiled === undefined) {
    compiled = compile(path);
    cache.set(path, compiled);
  }
  return compiled;
}

const TOKEN =
  /\.?\[\?\(\s*@((?:\.[^\s=!<>)]+)*)\s*(?:(==|!=)\s*("(?:[^"\\]|\\.)*"|'[^']*'|[^)\s]+)\s*)?\)\]|\.?\[(\*|-?\d+)\]|\.?\[(?:'([^']*)'|"([^"]*)")\]|\.?((?:[^.[\\]|\\.)+)/gy;

function compile(path: string): JsonPath {
  const text = path
    .trim()
    .replace(/^\{(.*)\}$/s, "$1")
    .replace(/^\$/, "");
  const steps: Step[] = [];
  for (let at = 0; at < text.length; ) {
    // Filters compile paths of their own in between, so the position is kept here.
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(text);
    if (match === null) return () => [];
    at = TOKEN.lastIndex;
    steps.push(stepOf(match));
  }
  return (root) => steps.reduce<unknown[]>((values, step) => values.flatMap(step), [root]);
}

function stepOf([, filter, operator, operand, index, single, double, name]: RegExpExecArray): Step {
  if (filter !== undefined) return filterStep(filter, operator, operand);
  if (index === "*") return (value) => (isContainer(value) ? Object.values(value) : []);
  if (index !== undefined) return (value) => (Array.isArray(value) ? present(value.at(Number(index))) : []);
  const key = single ?? double ?? (name ?? "").replaceAll(/\\(.)/g, "$1");
  if (key === "*") return (value) => (isContainer(value) ? Object.values(value) : []);
  return (value) => (isContainer(value) && Object.hasOwn(value, key) ? present(value[key]) : []);
}

function filterStep(path: string, operator: string | undefined, operand: string | undefined): Step {
  const inner = compile(path);
  const wanted = operand === undefined ? undefined : literal(operand);
  const matches = (item: unknown) => {
    const [found] = inner(item);
    if (operator === undefined) return found !== undefined;
    return (found === wanted) === (operator === "==");
  };
  return (value) => (Array.isArray(value) ? value.filter(matches) : []);
}

function literal(text: string): unknown {
  if (text.startsWith("'")) return text.slice(1, -1);
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const present = (value: unknown) => (value === undefined || value === null ? [] : [value]);
const isContainer = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;
