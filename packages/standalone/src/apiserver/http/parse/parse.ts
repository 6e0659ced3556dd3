import { badRequest, StatusError } from "@mooring/store";
import { decodeProtobuf } from "../../protobuf/envelope.ts";
import type { Body, BodyFormat } from "./body.ts";
import { duplicateFields } from "./duplicate-fields.ts";
import type { Limits } from "./limits.ts";
import { checkMeasure } from "./measure.ts";
import { readYaml } from "./yaml.ts";

/** What a body contains; `most` may be in it. Throws BadRequest, or UnsupportedMediaType. */
export function parseBody(format: BodyFormat, bytes: Buffer, most: Limits): Body {
  switch (format) {
    case "json":
      return parseJson(bytes.toString("utf8"), most);
    case "yaml":
      return parseYaml(bytes.toString("utf8"), most);
    case "protobuf": {
      const value = decodeProtobuf(bytes);
      checkMeasure(value, most);
      return { value, duplicates: [] };
    }
  }
}

function parseJson(text: string, most: Limits): Body {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw badRequest(`the object provided is unrecognized: couldn't parse JSON: ${messageOf(error)}`);
  }
  checkMeasure(value, most);
  return { value, duplicates: duplicateFields(text) };
}

/** JSON is YAML, too, and what kubectl applies is JSON. */
function parseYaml(text: string, most: Limits): Body {
  if (/^\s*[{[]/.test(text)) {
    try {
      return parseJson(text, most);
    } catch {
      // Flow style that is no JSON.
    }
  }
  try {
    return readYaml(text, most);
  } catch (error) {
    if (error instanceof StatusError) throw error;
    throw badRequest(`error converting YAML to JSON: ${messageOf(error)}`);
  }
}

const messageOf = (error: unknown) =>
  (error instanceof Error ? error.message : String(error)).split("\n", 1)[0]?.slice(0, 300) ?? "";
