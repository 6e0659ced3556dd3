import { StatusError } from "@mooring/store";

/** One media range of an Accept header. */
export interface MediaRange {
  type: string;
  parameters: Readonly<Record<string, string>>;
}

/** The ranges of an Accept header, most wanted first. An absent header accepts everything. */
export function parseAccept(header: string | undefined): MediaRange[] {
  if (header === undefined || header.trim() === "") return [{ type: "*/*", parameters: {} }];
  const ranges = header.split(",").map((part) => {
    const [type = "", ...rest] = part.split(";").map((piece) => piece.trim());
    const parameters: Record<string, string> = {};
    for (const piece of rest) {
      const [name = "", value = ""] = piece.split("=", 2);
      if (name !== "__proto__") parameters[name.toLowerCase()] = value.replaceAll('"', "");
    }
    return { type: type.toLowerCase(), parameters };
  });
  const quality = (range: MediaRange) => Number(range.parameters.q ?? 1);
  return ranges.filter((range) => quality(range) > 0).sort((a, b) => quality(b) - quality(a));
}

/** What the response is written in. */
export type Format = "json" | "yaml";
/** What the objects are turned into before they are written. */
export type Shape = "Object" | "Table" | "PartialObjectMetadata" | "PartialObjectMetadataList";

/** In which format a response is, and whether it is the object itself, a table or its metadata. */
export interface Representation {
  format: Format;
  shape: Shape;
}

const FORMATS: Readonly<Record<string, Format>> = {
  "application/json": "json",
  "application/yaml": "yaml",
  "application/*": "json",
  "*/*": "json",
};
const META_SHAPES = new Set<string>(["Table", "PartialObjectMetadata", "PartialObjectMetadataList"]);

function shapeOf({ g, v, as }: MediaRange["parameters"]): Shape | undefined {
  if (as === undefined) return "Object";
  if (g !== "meta.k8s.io" || (v !== "v1" && v !== "v1beta1")) return undefined;
  return META_SHAPES.has(as) ? (as as Shape) : undefined;
}

/** Chooses the form of the response; throws NotAcceptable (406), which makes clients that prefer protobuf fall back. */
export function negotiate(header: string | undefined, shapes: readonly Shape[]): Representation {
  for (const range of parseAccept(header)) {
    const format = Object.hasOwn(FORMATS, range.type) ? FORMATS[range.type] : undefined;
    const shape = shapeOf(range.parameters);
    if (format !== undefined && shape !== undefined && shapes.includes(shape)) return { format, shape };
  }
  const offered = "application/json, application/yaml";
  throw new StatusError("NotAcceptable", `only the following media types are accepted: ${offered}`);
}
