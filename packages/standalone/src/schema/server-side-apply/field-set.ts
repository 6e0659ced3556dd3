import { isObject, type JsonObject } from "../model.ts";

/**
 * A set of paths into an object, as `metadata.managedFields` stores it (FieldsV1). A path is a list of elements:
 * `f:name` a field, `k:{"name":"c"}` an element of a keyed list, `v:"x"` an element of a set, `i:0` a position.
 * The set is a tree of elements; a node is in the set itself when `member` is true. Sets are never changed.
 */
export interface FieldSet {
  readonly member: boolean;
  readonly children: ReadonlyMap<string, FieldSet>;
}

const NO_CHILDREN: ReadonlyMap<string, FieldSet> = new Map();
/** No field. */
export const EMPTY: FieldSet = { member: false, children: NO_CHILDREN };
/** The field itself, and none below it. */
export const LEAF: FieldSet = { member: true, children: NO_CHILDREN };

/** Neither the field itself nor any below it is in the set. */
export function isEmpty(set: FieldSet): boolean {
  return !set.member && set.children.size === 0;
}

/** A node with these children; children that contain nothing are left out. */
export function node(member: boolean, children: Iterable<readonly [string, FieldSet]>): FieldSet {
  const kept = new Map<string, FieldSet>();
  for (const [element, child] of children) if (!isEmpty(child)) kept.set(element, child);
  if (kept.size === 0) return member ? LEAF : EMPTY;
  return { member, children: kept };
}

/** The fields of either. */
export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmpty(a)) return b;
  if (isEmpty(b)) return a;
  const children = new Map(a.children);
  for (const [element, child] of b.children) {
    const mine = children.get(element);
    children.set(element, mine === undefined ? child : union(mine, child));
  }
  return node(a.member || b.member, children);
}

/** Paths of `a` that are not in `b`; what lies below a path of `b` stays. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmpty(a) || isEmpty(b)) return a;
  return node(
    a.member && !b.member,
    [...a.children].map(([element, child]) => {
      const other = b.children.get(element);
      return [element, other === undefined ? child : difference(child, other)] as const;
    }),
  );
}

/** The fields that both have. A field above another one does not contain it. */
export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmpty(a) || isEmpty(b)) return EMPTY;
  return node(
    a.member && b.member,
    [...a.children].map(([element, child]) => {
      const other = b.children.get(element);
      return [element, other === undefined ? EMPTY : intersection(child, other)] as const;
    }),
  );
}

/** Whether both have the same fields, in whatever order. */
export function equalSets(a: FieldSet, b: FieldSet): boolean {
  if (a.member !== b.member || a.children.size !== b.children.size) return false;
  for (const [element, child] of a.children) {
    const other = b.children.get(element);
    if (other === undefined || !equalSets(child, other)) return false;
  }
  return true;
}

/** All paths of the set, in order. */
export function* paths(set: FieldSet, prefix: readonly string[] = []): Generator<readonly string[]> {
  if (set.member) yield prefix;
  for (const [element, child] of set.children) yield* paths(child, [...prefix, element]);
}

/** `["f:metadata", "f:name"]` and the like as a set. */
export function setOf(...all: readonly (readonly string[])[]): FieldSet {
  return all.reduce<FieldSet>(
    (set, path) =>
      union(
        set,
        path.reduceRight((child, e) => node(false, [[e, child]]), LEAF),
      ),
    EMPTY,
  );
}

/** FieldsV1: `.` stands for the node itself where it also has children. */
export function toFieldsV1(set: FieldSet): JsonObject {
  const fields: JsonObject = {};
  if (set.member && set.children.size > 0) fields["."] = {};
  for (const element of [...set.children.keys()].sort()) {
    const child = set.children.get(element);
    if (child !== undefined) fields[element] = toFieldsV1(child);
  }
  return fields;
}

/** Elements that we do not understand are left out. */
export function fromFieldsV1(fields: unknown, root = true): FieldSet {
  if (!isObject(fields)) return EMPTY;
  const elements = Object.entries(fields).filter(([element]) => element !== ".");
  const member = !root && (Object.hasOwn(fields, ".") || elements.length === 0);
  return node(
    member,
    elements
      .filter(([e]) => /^[fkvi]:/.test(e))
      .map(([e, child]) => [e, fromFieldsV1(child, false)] as const),
  );
}

/** `.spec.containers[name="c"].image` */
export function pathText(path: readonly string[]): string {
  return path.map(elementText).join("");
}

function elementText(element: string): string {
  const body = element.slice(2);
  switch (element.slice(0, 2)) {
    case "f:":
      return `.${body}`;
    case "v:":
      return `[=${body}]`;
    case "i:":
      return `[${body}]`;
    default: {
      const keys = Object.entries(JSON.parse(body) as JsonObject);
      return `[${keys.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(",")}]`;
    }
  }
}
